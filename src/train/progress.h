// Progress for people during a run: on a terminal a line that is redrawn, elsewhere lines that
// become rarer. Text in, text out: the caller prints it, and gives the time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

#include "base/types.h"
#include "train/metrics.h"

namespace shoal {

struct Screen {
  bool terminal = false;
  std::size_t width = 80;
};

// The state of the run. Counters begin at the start of the run.
struct ProgressNow {
  Time time;
  std::uint64_t epoch = 0;   // from 1
  std::uint64_t epochs = 0;  // 0: the number of steps is given
  Step step;
  Step steps;  // 0: unknown yet
  double loss = kUnknown;
  double accuracy = kUnknown;  // 0 to 1
  std::uint64_t samples = 0;
  double compute_s = 0;
  double wait_s = 0;
  Bytes bytes_sent;
  double left_s = kUnknown;  // if the run ends by time
};

struct EpochRow {
  std::uint64_t epoch = 0;
  double train_loss = kUnknown;
  double train_accuracy = kUnknown;
  double test_loss = kUnknown;
  double test_accuracy = kUnknown;
  double samples_per_s = kUnknown;
  double seconds = 0;
};

class ProgressText {
 public:
  explicit ProgressText(Screen screen) : screen_(screen) {}

  // Returns the text to print now; often empty.
  std::string step(const ProgressNow& now);
  // Always a separate line.
  std::string epoch_end(const EpochRow& row, std::uint64_t epochs);
  // For any other text printed in between: removes the live line first.
  std::string line(std::string_view text);
  std::string end();

 private:
  // Medians of recent rates: the first step, a pause or a burst does not change the remaining time.
  struct Rates {
    double steps_per_s = kUnknown;
    double samples_per_s = kUnknown;
    double waiting = kUnknown;  // fraction of the time
  };
  void note(const ProgressNow& now);
  Rates rates() const;
  std::string live_line(const ProgressNow& now) const;
  std::string erase();

  Screen screen_;
  std::deque<ProgressNow> recent_;
  std::optional<Time> start_;
  std::optional<Time> printed_;
  bool live_ = false;  // the cursor is behind a live line
};

// The table at the end of a run; empty for no rows.
std::string epoch_table(std::span<const EpochRow> rows);

// Numbers for people.
std::string short_count(double n);           // 950, 12.3k, 4.56M
std::string short_bytes(Bytes bytes);        // 1.23 GB
std::string short_duration(double seconds);  // 0:42, 3:07:21

}  // namespace shoal
