// Benchmarks of the optimizers: the speed of an update compared with that of copying memory.
#pragma once

#include <vector>

#include "bench/row.h"

namespace shoal {

// `scale` shrinks the model (0.01 as a smoke test); updates and copies in turn, medians of
// `repeats`.
std::vector<BenchRow> bench_optim(double scale, int repeats);

}  // namespace shoal
