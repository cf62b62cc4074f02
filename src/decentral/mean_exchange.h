// The mean of all models every tau steps, at once or late.
//
//   if tau divides t:  copy w_i; form the mean m of all copies
//   d steps later:     m <- the algorithm's change of m
//                      w_i <- w_i + m - copy of w_i;   for d = 0 that is w_i <- m
//
// Late: Wang et al. 2020 (overlap local SGD), arXiv:2002.09539; the steps in between are kept.
// Encoded: difference_mean.h.
// Cost in addition to the sum: a late meeting copies and moves the model in the pass that updates
// w_i, because extra passes over memory would slow down a worker that uses all cores. A meeting at
// once needs no copy, and one pass at its end.
// Failure: a meeting that a loss interrupts is left out.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "decentral/difference_mean.h"
#include "decentral/model_sum.h"
#include "decentral/training_round.h"
#include "replica/per_worker_state.h"
#include "runtime/channel.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

class MeanExchange {
 public:
  // Moves n numbers, from element `at` of the model on, to the algorithm's function of their mean,
  // which is the same on all. Empty: to the mean.
  using Change = std::function<void(const Met& met, std::size_t at, std::size_t n)>;

  // An exchange every `local_steps` steps; training continues for `overlap_steps` steps while the
  // mean is formed.
  MeanExchange(Node& node, const Learner& learner, const DecentralTerms& terms,
               std::uint32_t local_steps, std::uint32_t overlap_steps);

  // TrainingRound::update(), and work that is due at its end, in one pass. `change` may be empty.
  Task<void> update(TrainingRound& round, const Change& change);
  // Called after every step: does due work that update() has not done. True: a meeting has ended.
  Task<bool> after_step(TrainingRound& round, const Change& change);
  // Called at the end of a round: completes a meeting that is under way.
  Task<bool> end(TrainingRound& round, const Change& change);
  // The view is over: drops a meeting that is under way.
  void forget();
  // The arrays for a checkpoint.
  std::vector<PerWorkerArray> own();

 private:
  bool late() const { return overlap_steps_ > 0; }
  // This member's term: the model, or a copy of it if training goes on meanwhile.
  Range given(TrainingRound& round) { return late() ? copied_->all() : round.model(); }
  SliceWork copy_part(TrainingRound& round);
  SliceWork move_part(TrainingRound& round, const Change& change);
  double arrays_of_move(const Change& change) const;
  Task<void> form(TrainingRound& round);
  Task<void> until_formed();
  Task<void> move(TrainingRound& round, const Change& change);

  const DecentralTerms& terms_;
  const std::uint32_t local_steps_;
  const std::uint32_t overlap_steps_;
  ModelSum sum_;                               // of all members' terms
  std::optional<Arena> copied_;                // if training goes on meanwhile
  std::optional<DifferenceMean> differences_;  // if differences are sent, not models
  bool copied_along_ = false;                  // the update has copied the model
  bool moved_along_ = false;                   // the update has moved the model
  bool under_way_ = false;
  bool formed_ = false;
  Signal changed_;
};

}  // namespace shoal
