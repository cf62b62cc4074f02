// Long loops over elements, cut so that nothing waits long behind them.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "runtime/env.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// 2 MiB of each array: a slice takes about a millisecond, so that messages and heartbeats get their
// turn between two where the loop's own thread does the work. Smaller ones cost: each wakes the
// loop, and where all cores compute that takes a core from one of them.
inline constexpr std::size_t kSliceElements = 1U << 19U;

enum class Order : std::uint8_t { Forward, Backward };
using SliceWork = std::function<void(std::size_t from, std::size_t to)>;

// work(from, to) for every slice of n elements, in order and one at a time. `cost`: elements that
// each of the n stands for. A phantom only takes its time. `aside`: as Env::work_aside.
Task<void> in_slices(Env& env, Work kind, std::size_t n, bool phantom, Order order, double cost,
                     const SliceWork& work, bool aside = false);

// As many elements as `to` has; from null: a phantom's.
Task<void> copy(Env& env, Range to, const float* from);
inline Task<void> copy(Env& env, Range to, std::span<const float> from) {
  return copy(env, to, from.data());
}
inline Task<void> copy(Env& env, Range to, Range from) { return copy(env, to, from.data()); }

}  // namespace shoal
