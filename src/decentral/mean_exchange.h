// The mean of all models every tau steps, at once or late.
//
//   if tau divides t:  copy w_i; form the mean m of what all have copied
//   d steps later:     m <- what the system makes of the mean
//                      w_i <- w_i + m - (what was copied);   for d = 0 that is w_i <- m
//
// Late: Wang et al. 2020 (overlap local SGD), arXiv:2002.09539; the steps in between are kept.
// Failure: a meeting that is cut off by a loss is left out.
#pragma once

#include <functional>

#include "decentral/leg.h"
#include "runtime/channel.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

class MeanExchange {
 public:
  // Changes the mean into what all go on with, the same on all.
  using Change = std::function<Task<void>(Leg& leg, Range mean)>;

  MeanExchange(Node& node, Elements n, Substance substance, const DecentralTerms& terms)
      : terms_(terms),
        mean_(node.endpoint, n, substance),
        copied_(node.endpoint, n, substance),
        scratch_(node.endpoint, n, substance) {}

  // After every step; whatever is due. `change` may be empty.
  Task<void> after_step(Leg& leg, const Change& change);
  // At the end of a leg: what is under way is ended.
  Task<void> end(Leg& leg, const Change& change);
  // The view is over, and with it what was under way.
  void forget() { under_way_ = false; }

 private:
  Task<void> form(Leg& leg);
  Task<void> until_formed();

  const DecentralTerms& terms_;
  Arena mean_, copied_, scratch_;
  bool under_way_ = false;
  bool formed_ = false;
  Signal changed_;
};

}  // namespace shoal
