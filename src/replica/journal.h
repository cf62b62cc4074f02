// Journal: a strategy's reports while it trains, and its question whether to stop.
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

// When the exchange of a gradient bucket was under way.
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
  Duration wait{};     // for other workers after it, including the rest of the collective work
  Duration update{};   // work of this worker alone
  std::vector<ExchangeSpan> exchanges;
  // When the gradient was begun and done; set only if it was begun during the exchange of the
  // previous step. Then `compute` leaves out the time that it waited.
  Time begun{}, computed{};
  Rank rank;  // of this worker in the view
  // Updates made between the read that this update is based on and the update itself.
  double staleness = 0;
  Step read;  // with servers: the step of the state that this worker has now
};

// The scores of an ensemble: of its combined predictions, and the sum over its members.
struct EnsembleScore {
  Score together;
  Score members;
};

// An evaluation by all workers together. After a loss of workers, the same evaluation may be
// reported twice.
struct EvaluationReport {
  Step step;                // the state is the one before this step
  std::uint64_t epoch = 0;  // finished epochs; a partial one at the run's end counts
  Score total;
  Duration took{};
  // If every worker has its own model: the mean squared distance of the models to the result.
  std::optional<double> consensus{};
  std::optional<Score> members{};  // ensembles only: the sum over members; `total`: together
};

// Thread safety: called on the node's thread.
class Journal {
 public:
  virtual ~Journal() = default;
  // From now until the next call, all members of this view work in this view.
  virtual void view_begun(const View& view) { (void)view; }
  virtual Task<void> step_done(StepReport report) = 0;
  virtual Task<void> evaluated(EvaluationReport report) = 0;
  virtual void saved(Step step) = 0;
  // The staleness of all pushes to servers so far.
  virtual void measured(const Staleness& staleness) { (void)staleness; }
  // A choice that the recipe left open, and the reason.
  virtual void chosen(const std::string& what) { (void)what; }
  // Asked before every step: whether this worker shall save and leave. The answer is the same on
  // all members of the view.
  virtual Ending leave() = 0;
};

}  // namespace shoal
