// The fold extends an algorithm for powers of two to any number of members. Rabenseifner,
// "Optimization of collective reduction operations", ICCS 2004, doi:10.1007/978-3-540-24685-5_1.
//
//   Q = the largest power of two up to P
//   member r >= Q gives all it has to r-Q, which adds it;  0 .. Q-1 reduce;  r-Q sends r the sum
//
// Cost where P is not a power of two, in addition to that of Q members: at most 2T + R and two
// latencies, partly overlapped with the first round. If a message of that round arrives first, add
// its time.
#pragma once

#include <cstdint>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// An all-reduce among a power of two of members; it uses rounds from 2 on.
using PowerOfTwoReduce = Task<void> (*)(const Group& group, Range data, Range scratch,
                                        std::uint64_t operation);

// Sums `data` over all members. `scratch` has the size of data.
Task<void> folded(const Group& group, PowerOfTwoReduce reduce, Range data, Range scratch,
                  std::uint64_t operation);

}  // namespace shoal
