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

// Joins the job of the environment, sums ranges of each size over all ranks out of place, and has
// rank 0 print "result WAY BYTES MICROSECONDS" for each way in which the sum is had: `owned`, to be
// read where its owners have it, or `copied` to all. Throws Error when a sum is wrong.
void run_collective_rank(const CollectiveRankOptions& options);

}  // namespace shoal
