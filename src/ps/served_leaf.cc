#include "ps/served_leaf.h"

#include <algorithm>

#include "collective/reduce.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

Task<void> copy_all(Env& env, Range from, Range to) {
  co_await in_slices(env, Work::Copy, to.n.value(), to.data().empty(), Order::Forward, 1,
                     [&](std::size_t begin, std::size_t end) {
                       std::copy(from.data().begin() + begin, from.data().begin() + end,
                                 to.data().begin() + begin);
                     });
}

}  // namespace

std::shared_ptr<Arena> Leaf::spare() {
  for (const std::shared_ptr<Arena>& arena : versions_)
    if (arena.use_count() == 1) return arena;
  versions_.push_back(std::make_shared<Arena>(node_.endpoint, N_, substance_));
  return versions_.back();
}

Task<void> Leaf::begin(Range w, Range sum) {
  sum_ = sum;
  begun_ = false;
  const std::shared_ptr<Arena> next = spare();
  co_await copy_all(node_.env, w, next->all());
  now_ = next;
}

Task<void> Leaf::absorb(const float* g, UpdateStep step) {
  ++absorbing_;
  while (busy_) co_await free_.wait();
  busy_ = true;
  const Rule plain;
  const std::shared_ptr<Arena> next = spare();
  const std::vector<const float*> gradient{g};
  UpdateTarget shard{.w = next->all(), .g = next->all(), .slots = Range(), .at = Elements(0)};
  shard.before_w = now_->all();
  shard.terms = gradient;
  const Sums none;
  co_await apply(node_.env, plain, step, shard, none);
  now_ = next;
  std::vector<const float*> terms;
  if (begun_) terms.push_back(sum_.data().data());
  terms.push_back(g);
  if (sum_.data().empty()) terms.clear();
  co_await sum_up(node_.env, sum_, 2, std::move(terms));
  begun_ = true;
  busy_ = false;
  --absorbing_;
  free_.notify_all();
}

Task<void> Leaf::copy_to(Range w) const { return copy_all(node_.env, now_->all(), w); }

}  // namespace shoal
