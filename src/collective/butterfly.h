// Butterfly all-reduce (recursive doubling): few rounds with all data in each; for short messages.
// Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH",
// IJHPCA 19(1), 2005, doi:10.1177/1094342005051521.
//
//   for d = 1, 2, 4 .. < P:   swap all of data with r xor d;  add it to mine
//
// Symbols: P members, r own rank, N elements.
// Cost for powers of two: log2 P messages of N elements each way; log2 P (T + R), or
// log2 P (L + mG)  (SYSTEMS: recursive doubling). For other P add the fold (fold.h).
// Both sides of a swap add the same two numbers, and a + b has the bits of b + a, so that all
// members have the same sums after every round.
// Failure: as ring_all_reduce.
#pragma once

#include <cstdint>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// On return `data` holds the sum over all members. `scratch` has the size of data; both live until
// the generation is retired. REQUIRES: the same `operation` and data.n on all members.
Task<void> butterfly_all_reduce(const Group& group, Range data, Range scratch,
                                std::uint64_t operation);

// Out of place: `data` is not changed, and `sum` receives the sum over all members. REQUIRES: P is
// a power of two, at least 2.
Task<void> butterfly_all_reduce(const Group& group, Range data, Range sum, Range scratch,
                                std::uint64_t operation);

}  // namespace shoal
