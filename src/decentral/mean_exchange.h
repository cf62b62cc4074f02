// The mean of all models every tau steps, at once or late.
//
//   if tau divides t:  copy w_i; form the mean m of what all have copied
//   d steps later:     m <- what the system makes of the mean
//                      w_i <- w_i + m - (what was copied);   for d = 0 that is w_i <- m
//
// Late: Wang et al. 2020 (overlap local SGD), arXiv:2002.09539; the steps in between are kept.
// Encoded: difference_mean.h.
// Cost beside the sum over all: where the meeting is late, the copy and all the rest are part of
// the pass that updates w_i, because a worker on all cores pays for memory with steps; at once
// there is no copy, and one pass at the end.
// Failure: a meeting that is cut off by a loss is left out.
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
  // Moves n numbers, which begin at `at` of the model, to what the system makes of their mean; that
  // is the same on all. Nothing: to the mean.
  using Change = std::function<void(const Met& met, std::size_t at, std::size_t n)>;

  MeanExchange(Node& node, const Learner& learner, const DecentralTerms& terms);

  // TrainingRound::update(), with what is due at its end in the same pass. `change` may be empty.
  Task<void> update(TrainingRound& round, const Change& change);
  // After every step: whatever is due and not done yet. True: a meeting has ended.
  Task<bool> after_step(TrainingRound& round, const Change& change);
  // At the end of a round: what is under way is ended.
  Task<bool> end(TrainingRound& round, const Change& change);
  // The view is over, and with it what was under way.
  void forget();
  // What a checkpoint keeps of it.
  std::vector<PerWorkerArray> own();

 private:
  bool late() const { return terms_.peering.overlap_steps > 0; }
  // What this member gives: the model, or a copy of it where that goes on meanwhile.
  Range given(TrainingRound& round) { return late() ? copied_->all() : round.model(); }
  SliceWork copy_part(TrainingRound& round);
  SliceWork move_part(TrainingRound& round, const Change& change);
  double arrays_of_move(const Change& change) const;
  Task<void> form(TrainingRound& round);
  Task<void> until_formed();
  Task<void> move(TrainingRound& round, const Change& change);

  const DecentralTerms& terms_;
  ModelSum sum_;                               // of what all have given
  std::optional<Arena> copied_;                // where the model goes on meanwhile
  std::optional<DifferenceMean> differences_;  // where they are sent, and not models
  bool copied_along_ = false;                  // by the update,
  bool moved_along_ = false;                   // and so was the model
  bool under_way_ = false;
  bool formed_ = false;
  Signal changed_;
};

}  // namespace shoal
