// Benchmarks of the simulator: what a message, an idle node and a large cluster cost.
#pragma once

#include <vector>

#include "bench/row.h"

namespace shoal {

// `scale` shortens a run (0.01 as a smoke test); the message rates are medians of `repeats`.
std::vector<BenchRow> bench_sim(double scale, int repeats);

}  // namespace shoal
