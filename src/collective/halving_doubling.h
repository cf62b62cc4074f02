// Halving-doubling all-reduce: few rounds and few bytes. Rabenseifner, "Optimization of collective
// reduction operations", ICCS 2004, doi:10.1007/978-3-540-24685-5_1. Gloo's choice for many
// members.
//
//   mine = all of data
//   for d = P/2, P/4 .. 1:   give one half of `mine` to r xor d;  mine = the other + what it gives
//   for d = 1, 2 .. P/2:     swap `mine` with r xor d, which has the half beside it;  mine = both
//
// Symbols: P members, r own rank, N elements in P nearly equal blocks; `mine` is a run of blocks.
// Cost for powers of two: 2 log2 P messages, N(1 - 1/P) elements each way in each half;
// 2(P-1)/P T + (P-1)/P R, or 2L log2 P + 2mG(P-1)/P  (SYSTEMS: Rabenseifner).
// For other P add the fold (fold.h): 2T + R and two latencies.
// Every block is added up for one owner, along one tree of pairs, so that all members end with the
// same bits. Failure: as ring_all_reduce.
#pragma once

#include <cstdint>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// On return `data` holds the sum over all members. `scratch` has the size of data; both live until
// the generation is retired. REQUIRES: the same `operation` and data.n on all members.
Task<void> halving_doubling_all_reduce(const Group& group, Range data, Range scratch,
                                       std::uint64_t operation);

}  // namespace shoal
