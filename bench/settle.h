// For benchmarks of milliseconds in memory that has just been made.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/env.h"
#include "runtime/task.h"

namespace shoal {

// Until the large pages are there that the kernel makes of small ones in the background
// (transport/shm/memory.h), of some arrays of this size in each process. A training does not notice
// them; a run that is over by then would measure little else.
inline Task<void> settle(Env& env, std::uint64_t bytes) {
  constexpr std::uint64_t kNsPerByte = 15;
  co_await env.sleep(std::chrono::nanoseconds(kNsPerByte * bytes));
}

}  // namespace shoal
