// One of the processes that `bench ps` measures: two workers that push a gradient and pull the
// parameters as fast as they can, or a server.
#pragma once

#include <cstdint>
#include <string>

namespace shoal {

inline constexpr std::uint32_t kPsWorkers = 2;

struct PsRankOptions {
  std::uint64_t servers = 1;
  std::uint64_t bytes = 0;  // of the model
  std::string consistency = "synchronous";
};

// Runs until all has been measured. The first worker prints "result CONSISTENCY BYTES
// MICROSECONDS", the time in which each worker has pushed and pulled once. Throws Error for wrong
// parameters.
void run_ps_rank(const PsRankOptions& options);

}  // namespace shoal
