// The sum of the models that meet, left as it came: where there are two, each has its own and gets
// the other's, and whoever goes over the mean adds them in that pass. As many bytes as any other
// sum of two, and no pass for it alone.
//
//   co_await sum.form(company, exchange, given);
//   ... sum.mean(at, block); ...                  // of as many as block has, from `at` on
//
// Cost: 2 (P-1)/P N values (direct), or N for each of two; one array of N, and another of some
// exchanges of more than two.
// Failure: as the exchange's; what was formed counts no more.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "decentral/leg.h"
#include "learner/learner.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: mean() may be called by any thread while nothing is being formed.
class ModelSum {
 public:
  ModelSum(Node& node, const Learner& learner)
      : node_(node),
        substance_(learner.substance()),
        sum_(node.endpoint, learner.layout().averaged(), substance_) {}

  // `given` is what this member gives: it stays as it is until the mean is not asked for any more.
  Task<void> form(Company& company, Exchange exchange, Range given);
  // What was formed elsewhere, in all(), is the mean itself.
  void is_mean() { terms_ = {sum_.all(), std::nullopt, 1}; }
  void mean(std::size_t at, std::span<float> out) const;
  // What the mean consists of: f(numbers, weight).
  template <class F>
  void each_term(const F& f) const {
    f(terms_.first.data(), terms_.scale);
    if (terms_.second) f(terms_.second->data(), terms_.scale);
  }
  // Arrays that mean() reads.
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
