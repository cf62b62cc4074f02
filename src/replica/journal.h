// Journal: what a strategy tells of its steps while it trains, and what it asks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "learner/learner.h"
#include "replica/staleness.h"
#include "runtime/task.h"
#include "runtime/view.h"

namespace shoal {

// When a bucket of the gradient was under way.
struct ExchangeSpan {
  std::uint32_t bucket = 0;
  Time begin, end;
};

// A step that was applied.
struct StepReport {
  Step step;
  std::uint64_t epoch = 0;
  Score own;                  // of this worker's share
  std::uint64_t samples = 0;  // of all workers' shares
  double eta = 0;
  Duration compute{};  // the gradient
  Duration wait{};     // for others, after it, and what is left to do together
  Duration update{};   // of a worker alone
  std::vector<ExchangeSpan> exchanges;
  // Of the gradient, where it was begun while the step before was still exchanged; else unset. Then
  // `compute` is without what it waited for.
  Time begun{}, computed{};
  Rank rank;             // of this worker in the view
  double staleness = 0;  // updates between the read that it is based on and its own
  Step read;             // the state that it has now, where servers have it
};

// Of an ensemble: its own, and the sum of its members'.
struct EnsembleScore {
  Score together;
  Score members;
};

// An evaluation by all workers together. The same may be reported twice, when workers were lost.
struct EvaluationReport {
  Step step;                // the state is that before it
  std::uint64_t epoch = 0;  // as many are finished; a part of one at the run's end counts
  Score total;
  Duration took{};
  // Where workers have models of their own: the mean of their squared distances to the result.
  std::optional<double> consensus{};
  std::optional<Score> members{};  // of an ensemble, added up; `total` is that of all together
};

// Thread safety: called on the node's thread.
class Journal {
 public:
  virtual ~Journal() = default;
  // What follows, until the next call, is done in this view, by all of its members alike.
  virtual void view_begun(const View& view) { (void)view; }
  virtual Task<void> step_done(StepReport report) = 0;
  virtual Task<void> evaluated(EvaluationReport report) = 0;
  virtual void saved(Step step) = 0;
  // How stale the pushes to servers were, from the beginning on.
  virtual void measured(const Staleness& staleness) { (void)staleness; }
  // What was chosen where the recipe leaves it open, and why.
  virtual void chosen(const std::string& what) { (void)what; }
  // Asked before every step: whether this worker shall save what is to be saved, and leave. The
  // answer is the same on all members of the view.
  virtual Ending leave() = 0;
};

}  // namespace shoal
