// Double binary tree: two trees, each for half of the data, pipelined in chunks. Full bandwidth in
// a logarithmic number of rounds. Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth
// broadcast, reduction and scan", Parallel Computing 35(12), 2009, doi:10.1016/j.parco.2009.09.001;
// the trees are those of NCCL (graph/trees.cc).
//
//   tree 0 of 14:
//
//    0---------------8
//             ______/ \______
//            4               12
//          /   \            /  \       .
//        2       6       10     \      .
//       / \     / \     /  \     \     .
//      1   3   5   7   9   11    13
//
//   The tree of half 1 is its mirror image (P even), or the same tree shifted by one rank (P odd):
//   all members but at most one have children in only one of the two trees.
//
//   for both halves and every chunk of them, at once:
//     add the chunk of each child to mine
//     give it to the parent, receive the sum from it
//     send the sum to each child
//
// Symbols: P members, N elements, C chunks of each half, h = ceil(log2 P) rounds from leaf to root.
// Cost: a chunk of both halves, alone, takes (2h-1)(T + R/2)/C and 2hL: h levels up and h levels
// down, of which the root's two count once; the chunks of two children arrive one after the other.
// The next chunks follow at the rate of the busiest member, which sends and receives 2N/C elements
// for each: 2T/C, or R/C if that is more (T/C for P = 2, where each member is the root of one
// tree). In all about
// 2hL + ((2h-1)(T + R/2) + (C-1) max(2T, R))/C,  which tends to 2T.
// Only the roots add the last sums, and all members copy their results: the same bits everywhere.
// Failure: PeerLost at the parents and children of the lost member; others see a view change.
// `data` is then undefined on all members, and busy until the generation is retired.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// A member's place in a tree over ranks 0 .. P-1.
struct TreePlace {
  std::optional<std::uint64_t> parent;  // empty at the root
  std::vector<std::uint64_t> children;
};
// REQUIRES: r < P.
TreePlace place_in_tree(std::uint64_t r, std::uint64_t P);
// The place in the tree of half 0 or 1.
TreePlace place_in_double_tree(std::uint64_t half, std::uint64_t r, std::uint64_t P);

// The number of chunks in each half of n elements.
std::uint64_t double_tree_chunks(Elements n);

// On return `data` holds the sum over all members. `scratch` has the size of data; both live until
// the generation is retired. REQUIRES: the same `operation` and data.n on all members.
Task<void> double_tree_all_reduce(const Group& group, Range data, Range scratch,
                                  std::uint64_t operation);

}  // namespace shoal
