// Files of one sample a line: where the lines are, which are held out, and what their labels mean.
// Private to this layer.
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
// The first line at or behind `at` that is not blank; the end of the text when there is none.
std::uint64_t skip_blank_lines(std::string_view text, std::uint64_t at);
// Where the line behind the one at `at` begins.
std::uint64_t next_line(std::string_view text, std::uint64_t at);

// Throws DataError: "FILE line N WHERE: WHAT". Counts the lines only now, so that rows need to
// remember nothing but their offset.
[[noreturn]] void refuse_line(const FileView& file, std::uint64_t at, std::string_view where,
                              std::string_view what);

// Offsets of the rows to train with and of those held out. A row is held out by a hash of its
// number, so that rows appended later change nothing for those before.
class RowSplit {
 public:
  RowSplit(Seed seed, double test_fraction);
  bool is_test(std::uint64_t row) const;
  // Of the next row. Returns whether it is held out.
  bool add(std::uint64_t at);
  // Throws DataError when there are too few rows to train and to test.
  void finish(const FileView& file) const;

  std::vector<std::uint64_t> train, test;

 private:
  Seed seed_;
  double test_fraction_;
};

// A column of labels: whole numbers or words are classes, in sorted order; other numbers are values
// to approximate, which are standardized over the training part.
class RowLabels {
 public:
  enum class Want : std::uint8_t { Any, Classes, Values };
  explicit RowLabels(Want want) : want_(want) {}

  // While opening, each label once. What is wrong with it, or nothing.
  std::optional<std::string> see(std::string_view text, bool test);
  // What is wrong with all of them together, or nothing.
  std::optional<std::string> finish();

  TargetKind target() const { return target_; }
  std::int64_t classes() const;  // of a SampleShape
  std::vector<std::string> class_names() const;
  double mean() const { return mean_; }
  double deviation() const { return deviation_; }

  // Afterwards, label `slot` of a batch. What is wrong, or nothing.
  std::optional<std::string> put(std::string_view text, std::size_t slot, Batch& batch) const;

 private:
  Want want_;
  enum class Text : std::uint8_t { Unseen, Numbers, Words } text_ = Text::Unseen;
  bool whole_ = true;  // all numbers so far are
  bool too_many_ = false;
  std::set<double> seen_numbers_;
  std::set<std::string, std::less<>> seen_words_;
  double first_ = 0, sum_ = 0, squares_ = 0;  // of the training part, less the first
  std::uint64_t counted_ = 0;

  TargetKind target_ = TargetKind::Classes;
  std::vector<double> numbers_;  // of the classes, sorted
  std::vector<std::string> words_;
  double mean_ = 0, deviation_ = 1;
};

// Of the option target=classes|values.
RowLabels::Want wanted_target(SpecKeys& keys);

// (value - mean) / deviation as a number that surely fits.
float standardized(double value, double mean, double deviation);

}  // namespace shoal
