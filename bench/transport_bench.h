// Benchmarks of the transports, between two real processes, compared with standard tools.
#pragma once

#include <string>
#include <vector>

#include "bench/row.h"

namespace shoal {

struct TransportBenchOptions {
  std::string shoal;      // the path of this program
  std::string two_hosts;  // of tools/two-hosts; empty: that part is left out
  int rounds = 5;         // ours and theirs in turn; medians count
};

std::vector<BenchRow> bench_transport(const TransportBenchOptions& options);

}  // namespace shoal
