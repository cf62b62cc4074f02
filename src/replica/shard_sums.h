// The gradients of neighbouring logical shards, summed here in the order of the fixed tree
// (collective/fixed_tree.h) as far as that lies among them: what a worker of a reproducible run
// sends, to owners or to servers.
//
// Cost: a pass for each shard, and an addition for each but the first of a subtree; memory of N
//   for each level of it.
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

// Adds what backward gives to what is there already.
struct GradientAdder final : GradientSink {
  explicit GradientAdder(Range range) : g(range) {}
  void take(Elements at, std::span<const float> gradient) override;
  Range g;
};

// Thread safety: none; it belongs to the thread of its node.
class ShardSums {
 public:
  // The gradient of one shard, to the target.
  using Compute = std::function<Task<void>(std::uint32_t shard, GradientTarget target)>;

  ShardSums(Node& node, Elements N, Substance substance)
      : node_(node), N_(N), substance_(substance) {}

  // A step begins: nobody reads the sums of the last one any more.
  void begin() { used_ = 0; }
  // The sum of a subtree, where it stays until begin(). `compute` outlives it.
  Task<Range> of(Subtree node, const Compute& compute);
  // As much memory, until begin().
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
