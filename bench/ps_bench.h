// Benchmark of the parameter servers: the cost of a push and a pull compared with our own
// all-reduce, the scaling of servers, and the time of a synchronous step through them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/row.h"

namespace shoal {

struct PsBenchOptions {
  std::string shoal;                               // the path of this program
  std::uint64_t bytes = std::uint64_t{64} << 20U;  // of the model that is pushed and pulled
  int rounds = 9;                                  // in turn; medians count
  double scale = 1;                                // length of a training run
};

std::vector<BenchRow> bench_ps(const PsBenchOptions& options);

}  // namespace shoal
