// Work whose result comes in pieces that are useful before the last one is ready, such as backward.
//
//   co_await work_in_pieces(env, Work::Backward, costs, Taken::AtOnce,
//       [&](const Emit& emit, const Wanted& wanted) { ... emit(i); ... },   // where work runs
//       [&](std::uint32_t i) { ready.push(...); });                         // on the node's thread
//
// Live, a piece is taken while the work continues, or with all others at its end if it is of no use
// before: waking the node's thread takes a core from the work. In simulation the function runs at
// once, and its pieces are taken in order, the cost of each after the one before.
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
