// Benchmarks of the encodings: gradient bytes a second that one core encodes and decodes.
#pragma once

#include <vector>

#include "bench/row.h"

namespace shoal {

// `scale` shrinks the gradient (0.01 as a smoke test); all encodings in turn, medians of `repeats`.
std::vector<BenchRow> bench_codec(double scale, int repeats);

}  // namespace shoal
