#include "data/rows.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace shoal {
namespace {

constexpr std::size_t kClassesMax = 1U << 16U;
// This many different integers are more likely measurements than classes.
constexpr std::size_t kClassesLikely = 1000;

}  // namespace

std::string_view line_at(std::string_view text, std::uint64_t at) {
  std::string_view line = text.substr(at, text.find('\n', at) - at);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::uint64_t next_line(std::string_view text, std::uint64_t at) {
  const std::size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

std::uint64_t skip_blank_lines(std::string_view text, std::uint64_t at) {
  while (at < text.size() && trimmed(line_at(text, at)).empty()) at = next_line(text, at);
  return at;
}

void refuse_line(const FileView& file, std::uint64_t at, std::string_view where,
                 std::string_view what) {
  const auto lines = std::ranges::count(text_of(file).substr(0, at), '\n');
  throw DataError(fmt::format("{} line {}{}{}: {}", file.path, lines + 1, where.empty() ? "" : ", ",
                              where, what));
}

RowSplit::RowSplit(Seed seed, double test_fraction) : seed_(seed), test_fraction_(test_fraction) {}

bool RowSplit::is_test(std::uint64_t row) const {
  if (test_fraction_ <= 0) return false;
  // The first two rows are assigned by hand, so that even a tiny file has both kinds.
  if (row < 2) return row == 1;
  return Random(seed_, Purpose::Holdout, row).uniform() < test_fraction_;
}

bool RowSplit::add(std::uint64_t at) {
  const bool held_out = is_test(train.size() + test.size());
  (held_out ? test : train).push_back(at);
  return held_out;
}

void RowSplit::finish(const FileView& file) const {
  const std::size_t rows = train.size() + test.size();
  if (train.empty() || (test.empty() && test_fraction_ > 0))
    throw DataError(fmt::format("{} has {} row{} of data, too few to train and to test", file.path,
                                rows, rows == 1 ? "" : "s"));
}

float standardized(double value, double mean, double deviation) {
  constexpr double kMax = 1e30;
  return static_cast<float>(std::clamp((value - mean) / deviation, -kMax, kMax));
}

RowLabels::Want wanted_target(SpecKeys& keys) {
  const std::optional<std::string> target = keys.word("target");
  if (!target) return RowLabels::Want::Any;
  if (*target == "classes") return RowLabels::Want::Classes;
  if (*target == "values") return RowLabels::Want::Values;
  throw ConfigError(fmt::format("target is {}; it must be classes or values", shown(*target)));
}

std::optional<std::string> RowLabels::see(std::string_view text, bool test) {
  text = trimmed(text);
  if (text.empty()) return "there is no label";
  const std::optional<double> number = read_number(text);
  if (text_ == Text::Unseen) text_ = number ? Text::Numbers : Text::Words;
  if (text_ == Text::Words) {
    if (want_ == Want::Values) return fmt::format("label {} is not a number", shown(text));
    if (seen_words_.size() > kClassesMax)
      return fmt::format("label {} is the {}th different one: is this the label's column?",
                         shown(text), seen_words_.size());
    if (!seen_words_.contains(text)) seen_words_.emplace(text);
    return {};
  }
  double value = 0;
  if (auto objection = float_objection(text, value)) return "label " + *objection;
  whole_ = whole_ && value == std::floor(value);
  if (whole_ && !too_many_ && want_ != Want::Values) {
    seen_numbers_.insert(value);
    too_many_ = seen_numbers_.size() > kClassesMax;
  }
  if (test) return {};
  if (counted_++ == 0) first_ = value;
  sum_ += value - first_;
  squares_ += (value - first_) * (value - first_);
  return {};
}

std::optional<std::string> RowLabels::finish() {
  if (text_ == Text::Numbers && (want_ == Want::Values || (want_ == Want::Any && !whole_))) {
    target_ = TargetKind::Values;
    const double n = static_cast<double>(counted_);
    mean_ = first_ + sum_ / n;
    const double variance = squares_ / n - (sum_ / n) * (sum_ / n);
    deviation_ = variance > 0 ? std::sqrt(variance) : 1;
  } else if (!whole_) {
    return "the labels are not integers, so they cannot be classes";
  } else if (too_many_ || (want_ == Want::Any && seen_numbers_.size() > kClassesLikely)) {
    return fmt::format(
        "the labels are {}{} different integers. If they are values to approximate, add "
        ":target=values, else :target=classes",
        too_many_ ? "more than " : "", seen_numbers_.size() - (too_many_ ? 1 : 0));
  } else {
    numbers_.assign(seen_numbers_.begin(), seen_numbers_.end());
    words_.assign(seen_words_.begin(), seen_words_.end());
    if (classes() < 2) return "all labels are the same: nothing to learn";
  }
  seen_numbers_.clear();
  seen_words_.clear();
  return {};
}

std::int64_t RowLabels::classes() const {
  if (target_ == TargetKind::Values) return 1;
  return static_cast<std::int64_t>(std::max(numbers_.size(), words_.size()));
}

std::vector<std::string> RowLabels::class_names() const {
  std::vector<std::string> names = words_;
  for (const double number : numbers_) names.push_back(fmt::format("{}", number));
  return names;
}

std::optional<std::string> RowLabels::put(std::string_view text, std::size_t slot,
                                          Batch& batch) const {
  text = trimmed(text);
  const auto class_of = [&](const auto& classes, const auto& key) -> std::optional<std::string> {
    const auto found = std::ranges::lower_bound(classes, key);
    if (found == classes.end() || *found != key)
      return fmt::format("label {} did not exist when the file was opened", shown(text));
    batch.labels[slot] = found - classes.begin();
    return {};
  };
  if (text_ == Text::Words) return class_of(words_, text);
  double value = 0;
  if (auto objection = float_objection(text, value)) return "label " + *objection;
  if (target_ == TargetKind::Classes) return class_of(numbers_, value);
  batch.values[slot] = standardized(value, mean_, deviation_);
  return {};
}

}  // namespace shoal
