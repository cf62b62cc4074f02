// The sum of the models that meet, left as it came: where there are two, each has its own and gets
// the other's, and whoever goes over the mean adds them in that pass. As many bytes as any other
// sum of two, and no pass for it alone.
//
//   co_await sum.form(context, exchange, given);
//   move_to_mean(sum.met(...).from(at), n);                       // loops.h
//
// Cost: 2 (P-1)/P N values (direct), or N for each of two; one array of N, and another of some
// exchanges of more than two.
// Failure: as the exchange's; what was formed counts no more.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "decentral/loops.h"
#include "decentral/training_round.h"
#include "learner/learner.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

class ModelSum {
 public:
  ModelSum(Node& node, const Learner& learner)
      : node_(node),
        substance_(learner.substance()),
        sum_(node.endpoint, learner.layout().averaged(), substance_) {}

  // `given` is what this member gives: it stays as it is until the mean is not asked for any more.
  Task<void> form(ViewContext& context, Exchange exchange, Range given);
  // What was formed elsewhere, in all(), is the mean itself.
  void is_mean() { terms_ = {sum_.all(), std::nullopt, 1}; }
  // For a pass over the model; `copied` is empty where that is still what was given.
  Met met(std::span<float> model, std::span<const float> copied) const;
  // What the mean consists of: f(numbers, weight).
  template <class F>
  void each_term(const F& f) const {
    f(terms_.first.data(), terms_.scale);
    if (terms_.second) f(terms_.second->data(), terms_.scale);
  }
  // Arrays that the mean is read from.
  double arrays() const { return terms_.second ? 2 : 1; }
  Range all() { return sum_.all(); }
  Range scratch();

 private:
  struct Terms {
    Range first;
    std::optional<Range> second;
    float scale = 1;
  };

  Node& node_;
  const Substance substance_;
  Arena sum_;
  std::optional<Arena> scratch_;
  Terms terms_;
};

}  // namespace shoal
