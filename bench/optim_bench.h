// Benchmarks of the optimizers: how near an update comes to the speed at which memory can be
// copied.
#pragma once

#include <vector>

#include "bench/row.h"

namespace shoal {

// `scale` shrinks the model (0.01 as a smoke test); updates and copies in turn, medians of
// `repeats`.
std::vector<BenchRow> bench_optim(double scale, int repeats);

}  // namespace shoal
