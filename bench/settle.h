// For benchmarks that take milliseconds in newly allocated memory.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/env.h"
#include "runtime/task.h"

namespace shoal {

// Waits until the kernel has merged small pages into large ones in the background
// (transport/shm/memory.h), for some arrays of this size in each process. A training run does not
// notice the merging; a short run would measure little else.
inline Task<void> settle(Env& env, std::uint64_t bytes) {
  constexpr std::uint64_t kNsPerByte = 15;
  co_await env.sleep(std::chrono::nanoseconds(kNsPerByte * bytes));
}

}  // namespace shoal
