// Long loops over elements, cut into slices so that other work does not wait long.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "runtime/env.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// 2 MiB of each array: a slice takes about a millisecond, so messages and heartbeats are handled in
// between if the loop's own thread does the work. Smaller slices cost more: each wakes the loop,
// and if all cores compute, this takes a core from one of them.
inline constexpr std::size_t kSliceElements = 1U << 19U;

enum class Order : std::uint8_t { Forward, Backward };
using SliceWork = std::function<void(std::size_t from, std::size_t to)>;

// Calls work(from, to) for every slice of n elements, in order, one at a time. `cost`: elements
// that each of the n stands for. A phantom only costs time. `aside`: see Env::work_aside.
Task<void> in_slices(Env& env, Work kind, std::size_t n, bool phantom, Order order, double cost,
                     const SliceWork& work, bool aside = false);

// Copies as many elements as `to` has. A null `from` is a phantom's.
Task<void> copy(Env& env, Range to, const float* from);
inline Task<void> copy(Env& env, Range to, std::span<const float> from) {
  return copy(env, to, from.data());
}
inline Task<void> copy(Env& env, Range to, Range from) { return copy(env, to, from.data()); }

}  // namespace shoal
