// LIBSVM's format: "label index:value index:value ...", a line per sample, indices ascending from
// 1; text after a # is a comment.
#include <algorithm>

#include "data/fill.h"
#include "data/formats.h"
#include "data/rows.h"

namespace shoal {
namespace {

constexpr std::uint64_t kFeaturesMax = std::uint64_t{1} << 31U;

struct LibsvmFile {
  FileView file;
  std::uint64_t features = 0;
  RowLabels labels{RowLabels::Want::Any};

  // Calls label(text), then pair(index, value) with indices from 0.
  template <class Label, class Pair>
  void read_row(std::uint64_t at, Label label, Pair pair) const {
    std::string_view line = line_at(text_of(file), at);
    line = line.substr(0, line.find('#'));
    const auto take = [&] {
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      const std::string_view word = line.substr(0, line.find_first_of(" \t"));
      line.remove_prefix(word.size());
      return word;
    };
    label(take());
    std::uint64_t before = 0;
    for (std::string_view word = take(); !word.empty(); word = take()) {
      const std::size_t colon = word.find(':');
      if (colon == std::string_view::npos)
        refuse_line(file, at, "",
                    fmt::format("{} does not have the form index:value", shown(word)));
      const std::optional<std::uint64_t> index = read_count(word.substr(0, colon));
      if (!index || *index == 0 || *index > kFeaturesMax)
        refuse_line(file, at, "",
                    fmt::format("index {} is not an integer from 1 to {}",
                                shown(word.substr(0, colon)), kFeaturesMax));
      if (*index <= before)
        refuse_line(file, at, "",
                    fmt::format("index {} after {}: they must ascend", *index, before));
      double value = 0;
      if (const auto objection = float_objection(word.substr(colon + 1), value))
        refuse_line(file, at, fmt::format("index {}", *index), *objection);
      pair(*index - 1, value);
      before = *index;
    }
  }
};

class LibsvmSource final : public BatchSource {
 public:
  LibsvmSource(std::shared_ptr<const LibsvmFile> file, std::vector<std::uint64_t> rows)
      : file_(std::move(file)), rows_(std::move(rows)) {
    shape_ = {InputKind::Sparse,
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
      file_->read_row(
          at,
          [&](std::string_view text) {
            if (const auto objection = file_->labels.put(text, i, batch))
              refuse_line(file_->file, at, "", *objection);
          },
          [&](std::uint64_t index, double value) {
            if (index >= file_->features)
              refuse_line(file_->file, at, "", "the file has changed since it was opened");
            batch.indices.push_back(static_cast<std::int64_t>(index));
            batch.weights.push_back(static_cast<float>(value));
          });
      batch.offsets.push_back(static_cast<std::int64_t>(batch.indices.size()));
    }
  }

 private:
  std::shared_ptr<const LibsvmFile> file_;
  std::vector<std::uint64_t> rows_;
  SampleShape shape_;
};

}  // namespace

Dataset open_libsvm(std::string_view rest, const DatasetOptions& options,
                    const FileOpener& opener) {
  auto file = std::make_shared<LibsvmFile>();
  const FileSpec spec = split_file_spec(rest);
  SpecKeys keys("libsvm", spec.keys, ':');
  file->labels = RowLabels(wanted_target(keys));
  keys.finish();
  file->file = opener(spec.path);
  const std::string_view text = text_of(file->file);
  RowSplit rows(options.seed, options.test_fraction);
  for (std::uint64_t at = skip_blank_lines(text, 0); at < text.size();
       at = skip_blank_lines(text, next_line(text, at))) {
    if (trimmed(line_at(text, at)).starts_with('#')) continue;
    const bool test = rows.add(at);
    file->read_row(
        at,
        [&](std::string_view label) {
          auto objection = file->labels.see(label, test);
          if (!objection && !read_number(label))
            objection = fmt::format("label {} is not a number", shown(label));
          if (objection) refuse_line(file->file, at, "", *objection);
        },
        [&](std::uint64_t index, double) { file->features = std::max(file->features, index + 1); });
  }
  rows.finish(file->file);
  if (file->features == 0)
    throw DataError(fmt::format("{} has no index:value pairs at all", file->file.path));
  if (const auto objection = file->labels.finish())
    throw DataError(fmt::format("{}: {}", file->file.path, *objection));

  Dataset dataset;
  dataset.class_names = file->labels.class_names();
  dataset.name = fmt::format("{} sparse rows to train and {} to test from {}", rows.train.size(),
                             rows.test.size(), file->file.path);
  dataset.train = std::make_shared<LibsvmSource>(file, std::move(rows.train));
  if (!rows.test.empty()) dataset.test = std::make_shared<LibsvmSource>(file, std::move(rows.test));
  return dataset;
}

}  // namespace shoal
