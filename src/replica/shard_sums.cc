#include "replica/shard_sums.h"

#include <utility>
#include <vector>

#include "collective/reduce.h"

namespace shoal {

void GradientAdder::take(Elements at, std::span<const float> gradient) {
  add(g.data().subspan(at.value(), gradient.size()), gradient);
}

Range ShardSums::spare() {
  if (used_ == spares_.size()) spares_.emplace_back(node_.endpoint, N_, substance_);
  return spares_[used_++].all();
}

Task<void> ShardSums::add_to(Range sum, Range term) {
  std::vector<const float*> terms{sum.data().data(), term.data().data()};
  co_await sum_up(node_.env, sum, 2, std::move(terms));
}

Task<Range> ShardSums::of(Subtree node, const Compute& compute) {
  const Range into = spare();
  co_await sum(node, into, compute);
  co_return into;
}

Task<void> ShardSums::sum(Subtree node, Range into, const Compute& compute) {
  if (node.leaf()) {
    const GradientTarget target{into};
    co_await compute(node.from, target);
    co_return;
  }
  const Subtree second = node.second_half();
  co_await sum(node.first_half(), into, compute);
  if (second.leaf()) {
    GradientAdder adder(into);
    const GradientTarget target{into, &adder};
    co_await compute(second.from, target);
  } else {
    const std::size_t used = used_;
    const Range beside = spare();
    co_await sum(second, beside, compute);
    co_await add_to(into, beside);
    used_ = used;
  }
}

}  // namespace shoal
