// One step of an optimizer on a range of the parameters: all of them, or one shard of several.
//
// Some rules need norms, of whole tensors or of the whole gradient, of which a shard sees only a
// part. The update is therefore made in rounds: every shard measures, the sums of all are added,
// and only then does anyone apply.
//
//   Sums total;
//   for (unsigned r = 0; r < rounds(rule); ++r) {
//     Sums mine = co_await measure(env, rule, step, shard, r, total);
//     total += the sum of `mine` over all shards;
//   }
//   co_await apply(env, rule, step, shard, total);
//
// Measuring changes nothing and may be repeated; applying writes w and the slots, never g, and
// leaves the state before the step alone where that lies elsewhere. What a parameter becomes does
// not depend on how the range was cut, to the last bit where the rule needs no norms.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optim/rule.h"
#include "runtime/env.h"
#include "runtime/range.h"
#include "runtime/slices.h"
#include "runtime/task.h"

namespace shoal {

struct UpdateStep {
  double eta = 0;       // schedule.h
  std::uint64_t t = 1;  // counts updates, from 1
  double samples = 1;   // B: of how many samples g is the sum; above 0
};

// A tensor of the whole parameter range.
struct Segment {
  Elements at;
  Elements n;
  bool decay = true;  // false: no weight decay here, as is usual for biases and norms
  bool adapt = true;  // false: LARS and LAMB take eta as it is, for the same tensors
};

// What else is done to w in the pass that moves it by a step, to each part of it while that is in a
// near cache: alone it would be a pass over memory of its own. Both count from where w begins.
struct FusedPass {
  SliceWork before{};  // the step
  SliceWork after{};
  double arrays = 0;  // of w's size that they read or write beside it

  explicit operator bool() const { return before || after; }
};

struct UpdateTarget {
  Range w;
  Range g;
  Range slots;  // the shard's part of each slot, slot after slot; see stride
  Elements at;  // where the shard begins in the whole
  // All tensors, also those of other shards, end to end from 0. None: the shard is one tensor.
  std::span<const Segment> segments{};
  Elements stride{};  // from one slot's part to the next; 0: w.n, one lies behind the other
  // Where the state before the step is, as w and slots are; none: in w and slots themselves, which
  // are then overwritten. Of the slots alone: before_w is w.
  Range before_w{};
  Range before_slots{};
  // Where the gradient lies in several places: it is the sum of these, in their order, and not g.
  // Each begins where w does; those of a phantom are null. One only, for rules that need norms.
  std::span<const float* const> terms{};
  bool aside = false;  // a gradient is computed meanwhile (Env::work_aside), of other parameters
  const FusedPass* fused = nullptr;
};

// Sums of squares that shards add up. Empty counts as zero.
struct Sums {
  std::vector<double> values;
  // REQUIRES: both come from the same rule and the same number of segments, or one is empty.
  Sums& operator+=(const Sums& other);
};

// How often shards must measure before they apply; 0 for most rules.
unsigned rounds(const Rule& rule);
// This shard's part of the sums of `round`; `so_far` has the totals of the rounds before.
Task<Sums> measure(Env& env, const Rule& rule, UpdateStep step, UpdateTarget shard, unsigned round,
                   const Sums& so_far);
// Moves w by one step. `total` has the totals of all rounds.
Task<void> apply(Env& env, const Rule& rule, UpdateStep step, UpdateTarget shard,
                 const Sums& total);
// All of it, for a shard that is everything. What is to come before the step is done before anyone
// measures.
Task<void> update(Env& env, const Rule& rule, UpdateStep step, UpdateTarget shard);

}  // namespace shoal
