// One of the processes that `shoal bench collective` measures between.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shoal {

struct CollectiveRankOptions {
  std::vector<std::uint64_t> bytes;
  std::string transport = "shm";
  std::string exchange = "auto";
  std::uint64_t procs = 2;
};

// Joins the job of the environment and sums ranges of each size over all ranks out of place. Rank 0
// prints "result WAY BYTES MICROSECONDS" for each way to get the sum: `owned`, read in place from
// its owners, or `copied` to all. Throws Error if a sum is wrong.
void run_collective_rank(const CollectiveRankOptions& options);

}  // namespace shoal
