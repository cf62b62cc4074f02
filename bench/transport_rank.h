// One of the two ranks that `shoal bench transport` measures between.
#pragma once

#include <cstdint>
#include <string>

#include "base/types.h"

namespace shoal {

struct TransportRankOptions {
  std::string operation;  // latency, bandwidth, read
  std::string transport;  // ucx, shm
  Bytes size{8};
  std::uint64_t iterations = 1000;
};

// Joins the job of the environment and measures. Rank 0 prints "result VALUE": microseconds one
// way, or bytes a second. Throws Error if a message arrived changed.
void run_transport_rank(const TransportRankOptions& options);

}  // namespace shoal
