// Benchmarks of the simulator: what a message, an idle node and a large cluster cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shoal {

// A row as every benchmark prints it. `verified` says that the result of the run was checked.
struct BenchRow {
  std::string name{};
  double ours = 0;
  std::string unit{};
  double target = 0;  // what the project asks for; 0: nothing
  bool higher_is_better = true;
  bool verified = false;
  std::string note{};
};

// `scale` shortens a run (0.01 as a smoke test); the message rates are medians of `repeats`.
std::vector<BenchRow> bench_sim(double scale, int repeats);

}  // namespace shoal
