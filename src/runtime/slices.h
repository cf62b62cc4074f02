// Long loops over elements, cut so that nothing waits long behind them.
#pragma once

#include <cstddef>
#include <functional>

#include "runtime/env.h"
#include "runtime/task.h"

namespace shoal {

// 256 KiB of each array: a slice takes a tenth of a millisecond, so that messages and heartbeats
// get their turn between two where the loop's own thread does the work.
inline constexpr std::size_t kSliceElements = 65536;

enum class Order : std::uint8_t { Forward, Backward };
using SliceWork = std::function<void(std::size_t from, std::size_t to)>;

// work(from, to) for every slice of n elements, in order and one at a time. `cost`: elements that
// each of the n stands for. A phantom only takes its time.
Task<void> in_slices(Env& env, Work kind, std::size_t n, bool phantom, Order order, double cost,
                     const SliceWork& work);

}  // namespace shoal
