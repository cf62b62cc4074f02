// Tables of numbers in columns, as many programs print them: a line is a sample, spaces or tabs
// separate the numbers, and the last one is the label.
#include <algorithm>

#include "data/fill.h"
#include "data/formats.h"
#include "data/rows.h"

namespace shoal {
namespace {

struct ColumnsFile {
  FileView file;
  std::size_t features = 0;
  RowLabels labels{RowLabels::Want::Any};

  std::vector<std::string_view> words_at(std::uint64_t at) const {
    std::vector<std::string_view> words;
    std::string_view line = trimmed(line_at(text_of(file), at));
    while (!line.empty()) {
      words.push_back(line.substr(0, line.find_first_of(" \t")));
      line = trimmed(line.substr(words.back().size()));
    }
    return words;
  }
  // Calls number(k, value) for each but the last word, and returns that one.
  template <class Number>
  std::string_view read_row(std::uint64_t at, Number number) const {
    const std::vector<std::string_view> words = words_at(at);
    if (words.size() != features + 1)
      refuse_line(file, at, "",
                  fmt::format("{} columns where {} are expected", words.size(), features + 1));
    for (std::size_t k = 0; k < features; ++k) {
      double value = 0;
      if (const auto objection = float_objection(words[k], value))
        refuse_line(file, at, fmt::format("column {}", k + 1), *objection);
      number(k, value);
    }
    return words.back();
  }
};

class ColumnsSource final : public BatchSource {
 public:
  ColumnsSource(std::shared_ptr<const ColumnsFile> file, std::vector<std::uint64_t> rows)
      : file_(std::move(file)), rows_(std::move(rows)) {
    shape_ = {InputKind::Dense,
              {static_cast<std::int64_t>(file_->features)},
              file_->labels.target(),
              file_->labels.classes()};
  }
  const SampleShape& shape() const override { return shape_; }
  std::uint64_t size() const override { return rows_.size(); }
  void fill(std::uint64_t, std::span<const SampleId> samples, Batch& batch) const override {
    begin_batch(shape_, samples.size(), batch);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      check_sample(samples[i], rows_.size());
      const std::uint64_t at = rows_[samples[i]];
      float* const out = batch.dense.data() + i * file_->features;
      const std::string_view label = file_->read_row(
          at, [&](std::size_t k, double value) { out[k] = static_cast<float>(value); });
      if (const auto objection = file_->labels.put(label, i, batch))
        refuse_line(file_->file, at, "", *objection);
    }
  }

 private:
  std::shared_ptr<const ColumnsFile> file_;
  std::vector<std::uint64_t> rows_;
  SampleShape shape_;
};

}  // namespace

Dataset open_columns(std::string_view rest, const DatasetOptions& options,
                     const FileOpener& opener) {
  auto file = std::make_shared<ColumnsFile>();
  const FileSpec spec = split_file_spec(rest);
  SpecKeys keys("columns", spec.keys, ':');
  file->labels = RowLabels(wanted_target(keys));
  keys.finish();
  file->file = opener(spec.path);
  const std::string_view text = text_of(file->file);
  RowSplit rows(options.seed, options.test_fraction);
  for (std::uint64_t at = skip_blank_lines(text, 0); at < text.size();
       at = skip_blank_lines(text, next_line(text, at))) {
    if (file->features == 0) file->features = file->words_at(at).size() - 1;
    if (file->features == 0) refuse_line(file->file, at, "", "there is a label, but no number");
    const bool test = rows.add(at);
    const std::string_view label = file->read_row(at, [](std::size_t, double) {});
    if (const auto objection = file->labels.see(label, test))
      refuse_line(file->file, at, "", *objection);
  }
  rows.finish(file->file);
  if (const auto objection = file->labels.finish())
    throw DataError(fmt::format("{}: {}", file->file.path, *objection));

  Dataset dataset;
  dataset.class_names = file->labels.class_names();
  dataset.name = fmt::format("{} rows to train and {} to test from {}", rows.train.size(),
                             rows.test.size(), file->file.path);
  dataset.train = std::make_shared<ColumnsSource>(file, std::move(rows.train));
  if (!rows.test.empty())
    dataset.test = std::make_shared<ColumnsSource>(file, std::move(rows.test));
  return dataset;
}

}  // namespace shoal
