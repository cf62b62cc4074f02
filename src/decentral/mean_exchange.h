// The mean of all models every tau steps, at once or late.
//
//   if tau divides t:  copy w_i; form the mean m of what all have copied
//   d steps later:     m <- what the system makes of the mean
//                      w_i <- w_i + m - (what was copied);   for d = 0 that is w_i <- m
//
// Late: Wang et al. 2020 (overlap local SGD), arXiv:2002.09539; the steps in between are kept.
// Cost beside the sum over all: one pass that copies and one that does all the rest, because a
// worker on all cores pays for memory with steps.
// Failure: a meeting that is cut off by a loss is left out.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "decentral/leg.h"
#include "runtime/channel.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

class MeanExchange {
 public:
  // Changes a part of the mean, which begins at `at`, into what all go on with; the same on all.
  using Change = std::function<void(std::span<float> mean, std::size_t at)>;

  MeanExchange(Node& node, Elements n, Substance substance, const DecentralTerms& terms)
      : terms_(terms), sum_(node.endpoint, n, substance), scratch_(node.endpoint, n, substance) {
    if (terms.peering.late > 0) copied_.emplace(node.endpoint, n, substance);
  }

  // After every step; whatever is due. `change` may be empty. True: a meeting has ended.
  Task<bool> after_step(Leg& leg, const Change& change);
  // At the end of a leg: what is under way is ended.
  Task<bool> end(Leg& leg, const Change& change);
  // The view is over, and with it what was under way.
  void forget() { under_way_ = false; }

 private:
  Task<void> begin(Leg& leg);
  Task<void> form(Leg& leg);
  Task<void> until_formed();
  Task<void> move(Leg& leg, const Change& change);

  const DecentralTerms& terms_;
  Arena sum_, scratch_;          // over all of what they have copied
  std::optional<Arena> copied_;  // where the model goes on meanwhile
  bool under_way_ = false;
  bool formed_ = false;
  Signal changed_;
};

}  // namespace shoal
