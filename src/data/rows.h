// Files with one sample per line: the lines, the held-out ones, and the meaning of labels. Private
// to this layer.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "data/parse.h"
#include "learner/batch.h"

namespace shoal {

// The line that begins at byte `at`, without its end (a newline, or a return and a newline).
std::string_view line_at(std::string_view text, std::uint64_t at);
// The offset of the first line at or after `at` that is not blank, or the end of the text.
std::uint64_t skip_blank_lines(std::string_view text, std::uint64_t at);
// The offset of the line after the one at `at`.
std::uint64_t next_line(std::string_view text, std::uint64_t at);

// Throws DataError: "FILE line N WHERE: WHAT". It counts the lines, so that only offsets are kept
// for rows.
[[noreturn]] void refuse_line(const FileView& file, std::uint64_t at, std::string_view where,
                              std::string_view what);

// Offsets of training rows and held-out rows. A hash of a row's number decides whether it is held
// out, so rows appended later do not change earlier ones.
class RowSplit {
 public:
  RowSplit(Seed seed, double test_fraction);
  bool is_test(std::uint64_t row) const;
  // Adds the next row. Returns whether it is held out.
  bool add(std::uint64_t at);
  // Throws DataError if there are too few rows to train and to test.
  void finish(const FileView& file) const;

  std::vector<std::uint64_t> train, test;

 private:
  Seed seed_;
  double test_fraction_;
};

// A column of labels. Integers or words are classes, in sorted order; other numbers are values to
// approximate, standardized over the training part.
class RowLabels {
 public:
  enum class Want : std::uint8_t { Any, Classes, Values };
  explicit RowLabels(Want want) : want_(want) {}

  // While opening, for each label once. Returns the problem, or nothing.
  std::optional<std::string> see(std::string_view text, bool test);
  // The problem with all labels together, or nothing.
  std::optional<std::string> finish();

  TargetKind target() const { return target_; }
  std::int64_t classes() const;  // of a SampleShape
  std::vector<std::string> class_names() const;
  double mean() const { return mean_; }
  double deviation() const { return deviation_; }

  // Afterwards: writes label `slot` of a batch. Returns the problem, or nothing.
  std::optional<std::string> put(std::string_view text, std::size_t slot, Batch& batch) const;

 private:
  Want want_;
  enum class Text : std::uint8_t { Unseen, Numbers, Words } text_ = Text::Unseen;
  bool whole_ = true;  // all numbers so far are integers
  bool too_many_ = false;
  std::set<double> seen_numbers_;
  std::set<std::string, std::less<>> seen_words_;
  double first_ = 0, sum_ = 0, squares_ = 0;  // of the training part, relative to the first
  std::uint64_t counted_ = 0;

  TargetKind target_ = TargetKind::Classes;
  std::vector<double> numbers_;  // of the classes, sorted
  std::vector<std::string> words_;
  double mean_ = 0, deviation_ = 1;
};

// Reads the option target=classes|values.
RowLabels::Want wanted_target(SpecKeys& keys);

// (value - mean) / deviation, clamped to a finite float.
float standardized(double value, double mean, double deviation);

}  // namespace shoal
