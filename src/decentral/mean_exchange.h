// The mean of all models every tau steps, at once or late.
//
//   if tau divides t:  copy w_i; form the mean m of what all have copied
//   d steps later:     m <- what the system makes of the mean
//                      w_i <- w_i + m - (what was copied);   for d = 0 that is w_i <- m
//
// Late: Wang et al. 2020 (overlap local SGD), arXiv:2002.09539; the steps in between are kept.
// Encoded: difference_mean.h.
// Cost beside the sum over all: one pass that copies and one that does all the rest, because a
// worker on all cores pays for memory with steps.
// Failure: a meeting that is cut off by a loss is left out.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "decentral/difference_mean.h"
#include "decentral/leg.h"
#include "runtime/channel.h"
#include "runtime/range.h"
#include "runtime/task.h"
#include "strategy/own_state.h"

namespace shoal {

class MeanExchange {
 public:
  // Changes a part of the mean, which begins at `at`, into what all go on with; the same on all.
  using Change = std::function<void(std::span<float> mean, std::size_t at)>;

  MeanExchange(Node& node, const Learner& learner, const DecentralTerms& terms);

  // After every step; whatever is due. `change` may be empty. True: a meeting has ended.
  Task<bool> after_step(Leg& leg, const Change& change);
  // At the end of a leg: what is under way is ended.
  Task<bool> end(Leg& leg, const Change& change);
  // The view is over, and with it what was under way.
  void forget();
  // What a checkpoint keeps of it.
  std::vector<OwnArray> own();

 private:
  // What the sum is formed of.
  Range met() { return (copied_ ? *copied_ : sum_).all(); }
  Task<void> begin(Leg& leg);
  Task<void> form(Leg& leg);
  Task<void> until_formed();
  Task<void> move(Leg& leg, const Change& change);

  const DecentralTerms& terms_;
  Arena sum_, scratch_;          // over all of what they have copied; encoded: their mean
  std::optional<Arena> copied_;  // where the model goes on meanwhile
  std::optional<DifferenceMean> differences_;  // where they are sent, and not models
  bool under_way_ = false;
  bool formed_ = false;
  Signal changed_;
};

}  // namespace shoal
