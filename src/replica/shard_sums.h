// Sums the gradients of consecutive logical shards in the order of the fixed tree
// (collective/fixed_tree.h), as far as its subtrees lie among them. A worker of a reproducible run
// sends these sums to owners or to servers.
//
// Cost: a pass per shard, and an addition for each shard but the first of a subtree; memory of N
//   for each level of a subtree.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>

#include "collective/fixed_tree.h"
#include "learner/learner.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Adds the gradient of the backward pass to the values that are there.
struct GradientAdder final : GradientSink {
  explicit GradientAdder(Range range) : g(range) {}
  void take(Elements at, std::span<const float> gradient) override;
  Range g;
};

// Thread safety: none; it belongs to the thread of its node.
class ShardSums {
 public:
  // Computes the gradient of one shard into the target.
  using Compute = std::function<Task<void>(std::uint32_t shard, GradientTarget target)>;

  ShardSums(Node& node, Elements N, Substance substance)
      : node_(node), N_(N), substance_(substance) {}

  // Begins a step: the sums of the previous one are not read any more.
  void begin() { used_ = 0; }
  // The sum of a subtree; valid until begin(). `compute` outlives the call.
  Task<Range> of(Subtree node, const Compute& compute);
  // Memory of the same size; valid until begin().
  Range spare();
  Task<void> add_to(Range sum, Range term);

 private:
  Task<void> sum(Subtree node, Range into, const Compute& compute);

  Node& node_;
  Elements N_;
  Substance substance_;
  std::deque<Arena> spares_;
  std::size_t used_ = 0;
};

}  // namespace shoal
