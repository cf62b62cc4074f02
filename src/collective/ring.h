// Ring all-reduce. Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 69(2), 2009, doi:10.1016/j.jpdc.2008.09.002.
//
//   reduce-scatter:  for s = 0 .. P-2:  give chunk r-s-1 to r+1;  add chunk r-s-2 of r-1 to mine
//   all-gather:      for s = 0 .. P-2:  send chunk r-s to r+1;  receive chunk r-s-1 from r-1
//
// Symbols: P members, r own rank, N elements in P nearly equal chunks; chunk r ends up at member r.
// Cost: P-1 messages of N/P elements each way in each half, one after the other;
// 2(P-1)/P T + (P-1)/P R, or 2(P-1)(L + mG/P)  (SYSTEMS: ring, pipeline).
// Every chunk is added up along one chain of ranks, so that all members end with the same bits.
// Failure: PeerLost at the neighbours of the lost member; members further away see a view change.
// `data` is then undefined on all members, and busy until the generation is retired.
#pragma once

#include <cstdint>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// The elements of scratch that a reduction of n elements among P members needs.
constexpr Elements ring_scratch(Elements n, std::uint64_t P) {
  return Elements((n.value() + P - 1) / P);
}

// On return part_of(data, rank, P) holds the sum over all members, and all other elements are
// undefined. `scratch` has room for the largest chunk; it and `data` live until the generation is
// retired. REQUIRES: the same `operation` and the same data.n on all members.
Task<void> ring_reduce_scatter(const Group& group, Range data, Range scratch,
                               std::uint64_t operation);

// On return every part of `data` is a copy of its owner's. May use the operation of the preceding
// reduce-scatter.
Task<void> ring_all_gather(const Group& group, Range data, std::uint64_t operation);

// On return `data` holds the sum over all members.
Task<void> ring_all_reduce(const Group& group, Range data, Range scratch, std::uint64_t operation);

}  // namespace shoal
