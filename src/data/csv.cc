// CSV tables: a line is a sample, a column is a number or the label.
#include <algorithm>
#include <cmath>

#include "base/nearest.h"
#include "data/fill.h"
#include "data/formats.h"
#include "data/rows.h"

namespace shoal {
namespace {

constexpr std::size_t kColumnsMax = 1U << 20U;

// Removes the first cell from a line. A quoted cell may contain commas; a quote in it is doubled.
// `more`: a comma followed, so another cell follows, perhaps an empty one.
struct Cell {
  std::string_view text;  // inside the quotes
  bool more = false;
  bool sound = true;  // quotes are in pairs
};
Cell take_cell(std::string_view& line) {
  Cell cell;
  std::size_t end = 0;
  const std::size_t quote = line.find_first_not_of(" \t");
  if (quote != std::string_view::npos && line[quote] == '"') {
    std::size_t close = line.find('"', quote + 1);
    while (close != std::string_view::npos && close + 1 < line.size() && line[close + 1] == '"')
      close = line.find('"', close + 2);
    cell.sound = close != std::string_view::npos;
    if (cell.sound) cell.text = line.substr(quote + 1, close - quote - 1);
    end = cell.sound ? line.find(',', close) : std::string_view::npos;
    const std::string_view behind =
        cell.sound ? line.substr(close + 1, end - close - 1) : std::string_view();
    cell.sound = cell.sound && trimmed(behind).empty();
  } else {
    end = line.find(',');
    cell.text = trimmed(line.substr(0, end));
  }
  cell.more = end != std::string_view::npos;
  line.remove_prefix(cell.more ? end + 1 : line.size());
  return cell;
}

// Needed to read both training and test rows.
struct CsvTable {
  FileView file;
  std::vector<std::string> names;  // of the columns; empty without a header
  std::size_t columns = 0;
  std::size_t label = 0;
  std::vector<double> mean, deviation;  // of the columns except the label
  RowLabels labels{RowLabels::Want::Any};

  [[noreturn]] void refuse(std::uint64_t at, std::size_t column, std::string_view what) const {
    const std::string name = names.empty() ? "" : fmt::format(" ({})", names[column]);
    refuse_line(file, at, fmt::format("column {}{}", column + 1, name), what);
  }

  // Calls number(k, value) for the k-th column except the label, and label(text) for the label.
  template <class Number, class Label>
  void read_row(std::uint64_t at, Number number, Label label_text) const {
    std::string_view line = line_at(text_of(file), at);
    bool more = true;
    for (std::size_t column = 0; column < columns; ++column) {
      if (!more)
        refuse_line(file, at, "",
                    fmt::format("{} columns, but the first row has {}", column, columns));
      const Cell cell = take_cell(line);
      more = cell.more;
      if (!cell.sound) refuse(at, column, "a quote is not closed, or text follows it");
      if (column == label) {
        label_text(cell.text);
        continue;
      }
      double value = 0;
      if (const auto objection = float_objection(cell.text, value)) refuse(at, column, *objection);
      number(column - (column > label ? 1 : 0), value);
    }
    if (more)
      refuse_line(file, at, "", fmt::format("more columns than the {} of the first row", columns));
  }
};

class CsvSource final : public BatchSource {
 public:
  CsvSource(std::shared_ptr<const CsvTable> table, std::vector<std::uint64_t> rows)
      : table_(std::move(table)), rows_(std::move(rows)) {
    shape_ = {InputKind::Dense,
              {static_cast<std::int64_t>(table_->columns - 1)},
              table_->labels.target(),
              table_->labels.classes()};
  }
  const SampleShape& shape() const override { return shape_; }
  std::uint64_t size() const override { return rows_.size(); }
  void fill(std::uint64_t, std::span<const SampleId> samples, Batch& batch) const override {
    begin_batch(shape_, samples.size(), batch);
    const CsvTable& table = *table_;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      check_sample(samples[i], rows_.size());
      const std::uint64_t at = rows_[samples[i]];
      float* const out = batch.dense.data() + i * (table.columns - 1);
      table.read_row(
          at,
          [&](std::size_t k, double value) {
            out[k] = standardized(value, table.mean[k], table.deviation[k]);
          },
          [&](std::string_view text) {
            if (const auto objection = table.labels.put(text, i, batch))
              table.refuse(at, table.label, *objection);
          });
    }
  }

 private:
  std::shared_ptr<const CsvTable> table_;
  std::vector<std::uint64_t> rows_;
  SampleShape shape_;
};

// Sums over the training rows, relative to the first one, which keeps them small.
class ColumnSums {
 public:
  explicit ColumnSums(std::size_t n) : first_(n), sum_(n), squares_(n) {}
  void begin_row() { ++rows_; }
  void add(std::size_t k, double value) {
    if (rows_ == 1) first_[k] = value;
    const double d = value - first_[k];
    sum_[k] += d;
    squares_[k] += d * d;
  }
  void finish(CsvTable& table) const {
    const double n = static_cast<double>(rows_);
    for (std::size_t k = 0; k < sum_.size(); ++k) {
      const double variance = squares_[k] / n - (sum_[k] / n) * (sum_[k] / n);
      table.mean.push_back(first_[k] + sum_[k] / n);
      // A constant column becomes 0.
      table.deviation.push_back(variance > 0 ? std::sqrt(variance) : 1);
    }
  }

 private:
  std::uint64_t rows_ = 0;
  std::vector<double> first_, sum_, squares_;
};

std::vector<std::string> cells_of(const FileView& file, std::uint64_t at) {
  std::vector<std::string> cells;
  std::string_view line = line_at(text_of(file), at);
  bool more = true;
  while (more) {
    const Cell cell = take_cell(line);
    cells.emplace_back(cell.text);
    more = cell.more;
    if (cells.size() > kColumnsMax)
      refuse_line(file, at, "", fmt::format("more than {} columns", kColumnsMax));
  }
  return cells;
}

// The label column: by its name in the first line, or by its number, counted from 1.
std::size_t label_column(const FileView& file, const std::vector<std::string>& first,
                         const std::optional<std::string>& wanted, bool& named) {
  if (!wanted) return first.size() - 1;
  const auto found = std::ranges::find(first, *wanted);
  named = found != first.end();
  if (named) return static_cast<std::size_t>(found - first.begin());
  const std::optional<std::uint64_t> number = read_count(*wanted);
  if (!number)
    throw ConfigError(
        fmt::format("{} has no column {}. {}", file.path, shown(*wanted), suggest(*wanted, first)));
  if (*number < 1 || *number > first.size())
    throw ConfigError(fmt::format("{} has no column {}: they are counted from 1 to {}", file.path,
                                  *number, first.size()));
  return static_cast<std::size_t>(*number - 1);
}

// Reads the first line into the table; returns the offset of the rows.
std::uint64_t read_header(CsvTable& table, const std::optional<std::string>& wanted_label) {
  const std::string_view text = text_of(table.file);
  const std::uint64_t mark = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;  // of UTF-8
  const std::uint64_t at = skip_blank_lines(text, mark);
  if (at == text.size()) throw DataError(fmt::format("{} has no rows", table.file.path));
  const std::vector<std::string> first = cells_of(table.file, at);
  if (first.size() < 2)
    refuse_line(table.file, at, "",
                fmt::format("{} has one column; commas must separate the label from the inputs "
                            "from",
                            shown(line_at(text, at))));
  bool header = false;
  table.columns = first.size();
  table.label = label_column(table.file, first, wanted_label, header);
  // Words instead of numbers make a header; the label alone may be a word in any row.
  for (std::size_t c = 0; c < first.size(); ++c)
    header = header || (c != table.label && !read_number(first[c]));
  if (!header) return at;
  table.names = first;
  return skip_blank_lines(text, next_line(text, at));
}

}  // namespace

Dataset open_csv(std::string_view rest, const DatasetOptions& options, const FileOpener& opener) {
  const FileSpec spec = split_file_spec(rest);
  SpecKeys keys("csv", spec.keys, ':');
  const std::optional<std::string> wanted_label = keys.word("label");
  auto table = std::make_shared<CsvTable>();
  table->labels = RowLabels(wanted_target(keys));
  keys.finish();
  table->file = opener(spec.path);

  const std::string_view text = text_of(table->file);
  RowSplit rows(options.seed, options.test_fraction);
  std::uint64_t at = read_header(*table, wanted_label);
  ColumnSums sums(table->columns - 1);
  for (; at < text.size(); at = skip_blank_lines(text, next_line(text, at))) {
    const bool test = rows.add(at);
    if (!test) sums.begin_row();
    table->read_row(
        at,
        [&](std::size_t k, double value) {
          if (!test) sums.add(k, value);
        },
        [&](std::string_view label) {
          if (const auto objection = table->labels.see(label, test))
            table->refuse(at, table->label, *objection);
        });
  }
  rows.finish(table->file);
  if (const auto objection = table->labels.finish())
    throw DataError(fmt::format("{} column {}: {}", spec.path, table->label + 1, *objection));
  sums.finish(*table);

  Dataset dataset;
  dataset.class_names = table->labels.class_names();
  dataset.name = fmt::format("{} rows to train and {} to test from {}", rows.train.size(),
                             rows.test.size(), spec.path);
  if (table->labels.target() == TargetKind::Values)
    dataset.name += fmt::format(", values standardized (mean {:.6g}, deviation {:.6g})",
                                table->labels.mean(), table->labels.deviation());
  dataset.train = std::make_shared<CsvSource>(table, std::move(rows.train));
  if (!rows.test.empty()) dataset.test = std::make_shared<CsvSource>(table, std::move(rows.test));
  return dataset;
}

}  // namespace shoal
