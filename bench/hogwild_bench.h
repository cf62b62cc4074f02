// Hogwild's updates a second: sparse logistic regression, two threads beside one, and beside two
// that take a lock for each sample. All in turn; medians of ratios within a round count.
#pragma once

#include <vector>

#include "bench/row.h"

namespace shoal {

std::vector<BenchRow> bench_hogwild(double scale, int rounds);

}  // namespace shoal
