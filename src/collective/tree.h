// Binomial tree: reduce to a root, broadcast from it; one after the other they are an all-reduce.
// Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521; FireCaffe (Iandola
// et al., CVPR 2016, arXiv:1511.00175) reduces gradients this way.
//
//            0          v = rank counted from the root
//      ______|____      reduce:     for d = 1, 2, 4 .. < P:
//     4     2     1       v has bit d: give all to v-d, done;  else add all of v+d to mine
//    / \    |           broadcast:  for d = .., 4, 2, 1:
//   6   5   3             v has no bit up to d: send all to v+d
//   |                     v's lowest bit is d: receive
//   7
//
// Symbols: P members, N elements. Cost: ceil(log2 P) (T + R) up and ceil(log2 P) T down, or
// 2 log2 P (L + mG) and log2 P reductions  (SYSTEMS: tree).
// Only the root adds the last sums, and all members copy its result: the same bits everywhere.
// Failure: PeerLost at the parent and the children of the lost member; others see a view change.
// `data` is then undefined on all members, and busy until the generation is retired.
#pragma once

#include <cstdint>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// On return the root's `data` holds the sum over all members; on the others it is undefined.
// `scratch` has the size of data; both live until the generation is retired. REQUIRES: the same
// root, operation and data.n on all members.
Task<void> tree_reduce(const Group& group, Rank root, Range data, Range scratch,
                       std::uint64_t operation);

// On return `data` equals the root's. May use the operation of the preceding reduce.
Task<void> tree_broadcast(const Group& group, Rank root, Range data, std::uint64_t operation);

// On return `data` holds the sum over all members.
Task<void> tree_all_reduce(const Group& group, Range data, Range scratch, std::uint64_t operation);

}  // namespace shoal
