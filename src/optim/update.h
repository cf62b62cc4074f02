// One step of an optimizer on a range of the parameters: all of them, or one shard.
//
// Some rules need norms of whole tensors or of the whole gradient, of which a shard sees only a
// part. So the update is made in rounds: every shard measures, the sums of all shards are added,
// and then all shards apply.
//
//   Sums total;
//   for (unsigned r = 0; r < rounds(rule); ++r) {
//     Sums mine = co_await measure(env, rule, step, shard, r, total);
//     total += the sum of `mine` over all shards;
//   }
//   co_await apply(env, rule, step, shard, total);
//
// Measuring changes nothing and may be repeated. Applying writes w and the slots, never g, and
// keeps the state before the step if that is in other memory. If the rule needs no norms, the
// result does not depend on the cuts of the range, to the last bit.
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
  std::uint64_t t = 1;  // number of the update, from 1
  double samples = 1;   // B: the number of samples that g sums; above 0
};

// A tensor of the whole parameter range.
struct Segment {
  Elements at;
  Elements n;
  bool decay = true;  // false: no weight decay, as is usual for biases and norms
  bool adapt = true;  // false: LARS and LAMB use eta unchanged, for the same tensors
};

// Other work on w in the pass that updates it, done on each part while that is in a near cache: a
// separate pass over memory would cost more. Offsets count from the beginning of w.
struct FusedPass {
  SliceWork before{};  // the step
  SliceWork after{};
  double arrays = 0;  // arrays of w's size that they read or write besides w

  explicit operator bool() const { return before || after; }
};

struct UpdateTarget {
  Range w;
  Range g;
  Range slots;  // the shard's part of each slot, slot after slot; see stride
  Elements at;  // offset of the shard
  // All tensors, also those of other shards, adjacent from 0. Empty: the shard is one tensor.
  std::span<const Segment> segments{};
  Elements stride{};  // from one slot's part to the next; 0: w.n, they are adjacent
  // The state before the step, in the form of w and slots. Empty: w and slots themselves, which are
  // overwritten then. If only before_slots is given, before_w is w.
  Range before_w{};
  Range before_slots{};
  // The terms of a gradient in several places: it is their sum, in this order, instead of g. Each
  // begins where w does; those of a phantom are null. Only one, for rules that need norms.
  std::span<const float* const> terms{};
  bool aside = false;  // a gradient of other parameters is computed meanwhile (Env::work_aside)
  const FusedPass* fused = nullptr;
};

// Sums of squares that shards add up. Empty counts as zero.
struct Sums {
  std::vector<double> values;
  // REQUIRES: both come from the same rule and the same number of segments, or one is empty.
  Sums& operator+=(const Sums& other);
};

// Rounds of measuring before applying; 0 for most rules.
unsigned rounds(const Rule& rule);
// This shard's part of the sums of `round`; `so_far` has the totals of earlier rounds.
Task<Sums> measure(Env& env, const Rule& rule, UpdateStep step, UpdateTarget shard, unsigned round,
                   const Sums& so_far);
// Makes one step of w. `total` has the totals of all rounds.
Task<void> apply(Env& env, const Rule& rule, UpdateStep step, UpdateTarget shard,
                 const Sums& total);
// Does all of it, for a shard that is everything. FusedPass::before runs before measuring.
Task<void> update(Env& env, const Rule& rule, UpdateStep step, UpdateTarget shard);

}  // namespace shoal
