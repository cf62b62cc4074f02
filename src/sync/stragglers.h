// The decision which gradients of a step count, if the step does not wait for all. Workers report
// finished gradients to rank 0, which decides and tells all members.
//
//   first      TensorFlow's backup workers (Chen et al. 2016, arXiv:1604.00981): of P workers the
//              first P - b to be done count, the others are dropped
//   fastest    A-BSP (Wang et al. 2018): when the first is done, all contribute their gradients
//              so far
//   redundant  DistBelief (Dean et al., NIPS 2012): two workers compute each micro-shard, and the
//              first of them counts
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "sync/in_step.h"

namespace shoal {

inline constexpr Rank kDropped{0xFFFF'FFFF};

// For each micro-shard the worker whose gradient counts, or kDropped.
using Winners = std::vector<Rank>;

// The workers of each micro-shard, in order of preference.
using Candidates = std::vector<std::vector<Rank>>;

// `done`: workers in the order in which they finished. Returns nothing if it is too early to
// decide.
std::optional<Winners> decide_stragglers(const InStep& recipe, const Candidates& micro_shards,
                                         std::span<const Rank> done);

}  // namespace shoal
