// Compares runs. Runs that differ only in their seed are one contestant, with means and deviations.
// Text, table and page are made from this.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/run.h"

namespace shoal {

// Over the seeds of a contestant.
struct Spread {
  double mean = kUnknown;
  double deviation = 0;  // of the sample; 0 for one value
  std::size_t n = 0;     // number of known values

  bool known() const { return n > 0; }
};
Spread spread_of(std::span<const double> values);  // ignores unknown values

// The cost of a run when it had this value; mean, minimum and maximum over the seeds.
struct CurvePoint {
  double time_s = 0, epochs = 0, bytes = 0;  // bytes: sent per worker
  double value = kUnknown, low = kUnknown, high = kUnknown;
};

// How a worker's time was spent, in seconds.
struct TimeShares {
  double compute = 0;  // without communication
  double overlap = 0;  // beside communication
  double wait = 0;     // for other workers and links
  double update = 0;
  double rest = 0;  // data, dealing, checkpoints
};

struct ExcerptBar {
  std::size_t row = 0;
  std::string kind;  // "compute", "wait", "update", "send"
  std::string name;
  double begin_s = 0, end_s = 0;  // since the beginning of the excerpt
};
struct Excerpt {
  std::vector<std::string> rows;
  std::vector<ExcerptBar> bars;
};

struct Contestant {
  std::string label;
  std::vector<const FinishedRun*> runs;
  Spread wall_s, samples_per_s, steps, train_loss, test_loss, test_accuracy;
  Spread bytes, staleness, consensus, lost_nodes;
  Spread time_to_target_s, bytes_to_target;  // n: number of runs that reached it
  std::vector<CurvePoint> loss;              // training loss
  std::vector<CurvePoint> score;             // test accuracy if there is one, else test loss
  std::vector<CurvePoint> disagreement;      // consensus error, if there is one
  std::vector<double> staleness_shares;      // fraction of pushes that were 0, 1, .. updates late
  TimeShares time;
  Excerpt excerpt;

  const Summary& summary() const { return runs.front()->summary; }
};

// The winner and its margin.
struct Winner {
  std::size_t who = 0;
  double value = 0;
  std::optional<std::size_t> next;
  double ratio = 1;    // the runner-up's value divided by the winner's
  bool clear = false;  // the difference exceeds the deviations of both
};

struct Comparison {
  std::string title;
  bool by_accuracy = false;  // tests have accuracy; else loss, if anything
  std::optional<double> target;
  std::vector<Contestant> contestants;
  // With a target: by the cost of reaching it. Otherwise: by time and bytes per sample.
  std::optional<Winner> by_time, by_bytes;
  std::vector<std::string> notes;  // for the reader
};

// The target is this test accuracy (or loss), by default the best that at least half of the
// contestants reached with every seed. The runs outlive the comparison. Throws ConfigError.
Comparison compare_runs(std::span<const FinishedRun> runs, std::optional<double> target);

}  // namespace shoal
