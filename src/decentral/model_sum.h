// The sum of the models that meet, which may be left as two terms. Two members swap their models,
// and the pass that uses the mean adds them. This sends as many bytes as any other sum of two, and
// saves a pass.
//
//   co_await sum.form(context, exchange, given);
//   move_to_mean(sum.met(...).from(at), n);                       // loops.h
//
// Cost: 2 (P-1)/P N values (direct), or N for each of two; one array of N, and a second one for
// some exchanges of more than two members.
// Failure: as the exchange's; the sum is then invalid.
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

  // `given` is this member's term; it must not change until the mean has been used.
  Task<void> form(ViewContext& context, Exchange exchange, Range given);
  // all() contains the mean itself, which was computed elsewhere.
  void is_mean() { terms_ = {sum_.all(), std::nullopt, 1}; }
  // The input of a pass over the model; `copied` is empty if `model` still has the given value.
  Met met(std::span<float> model, std::span<const float> copied) const;
  // Calls f(numbers, weight) for each term of the mean.
  template <class F>
  void each_term(const F& f) const {
    f(terms_.first.data(), terms_.scale);
    if (terms_.second) f(terms_.second->data(), terms_.scale);
  }
  // The number of arrays that make up the mean.
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
