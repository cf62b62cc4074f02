// Work whose result comes in pieces, each of use before the last is there: backward, say.
//
//   co_await work_in_pieces(env, Work::Backward, costs, Taken::AtOnce,
//       [&](const Emit& emit, const Wanted& wanted) { ... emit(i); ... },   // where work runs
//       [&](std::uint32_t i) { ready.push(...); });                         // on the node's thread
//
// Live, a piece is taken while the work goes on, or, where that is of no use, with all others at
// its end: to wake the node's thread takes a core from the work. Simulated, the function runs at
// once, and its pieces are taken in the order in which they were emitted, the cost of each after
// the one before.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/types.h"
#include "runtime/env.h"
#include "runtime/task.h"

namespace shoal {

using Emit = std::function<void(std::uint32_t piece)>;
enum class Taken { AtOnce, AtTheEnd };

template <class F, class Take>
Task<void> work_in_pieces(Env& env, Work kind, std::vector<Elements> costs, Taken taken, F f,
                          Take take) {
  std::vector<std::uint32_t> late;
  const Emit emit = [&](std::uint32_t i) {
    if (taken == Taken::AtTheEnd || !env.post([&take, i] { take(i); })) late.push_back(i);
  };
  co_await env.work(kind, Elements(0), [&](const Wanted& wanted) { f(emit, wanted); });
  for (const std::uint32_t i : late) {
    if (!env.posts()) co_await env.work(kind, costs[i], [] {});
    take(i);
  }
}

}  // namespace shoal
