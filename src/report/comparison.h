// Runs side by side: those that differ only in their seed are one contestant, with means and
// deviations. What text, table and page say is all from here.
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
  double deviation = 0;  // of the sample; 0 of one
  std::size_t n = 0;     // those that have the value

  bool known() const { return n > 0; }
};
Spread spread_of(std::span<const double> values);  // unknown ones do not count

// What a run had cost when it had this value; the mean of the seeds, and their least and most.
struct CurvePoint {
  double time_s = 0, epochs = 0, bytes = 0;  // bytes: sent by a worker
  double value = kUnknown, low = kUnknown, high = kUnknown;
};

// Where the time of a worker went, in seconds.
struct TimeShares {
  double compute = 0;  // with nothing under way
  double overlap = 0;  // computing, with gradients under way
  double wait = 0;     // for others and for links
  double update = 0;
  double rest = 0;  // data, dealing, checkpoints
};

struct ExcerptBar {
  std::size_t row = 0;
  std::string kind;  // "compute", "wait", "update", "send"
  std::string name;
  double begin_s = 0, end_s = 0;  // from the begin of the excerpt
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
  Spread time_to_target_s, bytes_to_target;  // n: how many reached it
  std::vector<CurvePoint> loss;              // of training
  std::vector<CurvePoint> score;             // of tests: accuracy where there is one, else loss
  std::vector<CurvePoint> disagreement;      // consensus error, where there is one
  std::vector<double> staleness_shares;      // of pushes 0, 1, .. updates late
  TimeShares time;
  Excerpt excerpt;

  const Summary& summary() const { return runs.front()->summary; }
};

// Whoever is best, and how far before the next.
struct Winner {
  std::size_t who = 0;
  double value = 0;
  std::optional<std::size_t> next;
  double ratio = 1;    // of the next one's value to this one's
  bool clear = false;  // farther apart than the deviations of both
};

struct Comparison {
  std::string title;
  bool by_accuracy = false;  // tests tell accuracy; else loss, if anything
  std::optional<double> target;
  std::vector<Contestant> contestants;
  // With a target: by what it took to get there. Else: by time and bytes of a sample.
  std::optional<Winner> by_time, by_bytes;
  std::vector<std::string> notes;  // for whoever reads it
};

// The target is that test accuracy (or loss), by default the best that at least half of the
// contestants reached with every seed. The runs outlive the comparison. Throws ConfigError.
Comparison compare_runs(std::span<const FinishedRun> runs, std::optional<double> target);

}  // namespace shoal
