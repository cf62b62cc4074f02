// Benchmarks of the all-reduce, between real processes, beside gloo and Open MPI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/row.h"

namespace shoal {

struct CollectiveBenchOptions {
  std::string shoal;               // the path of this program
  std::vector<std::string> peers;  // gloo, mpi
  std::vector<std::uint64_t> bytes;
  std::uint64_t procs = 2;
  std::string two_hosts;  // of tools/two-hosts; empty: that part is left out
  int rounds = 9;         // ours and theirs in turn; medians count
};

// Throws ConfigError for a peer that is unknown or not in this build.
std::vector<BenchRow> bench_collective(const CollectiveBenchOptions& options);

}  // namespace shoal
