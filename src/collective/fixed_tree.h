// A sum in one fixed order, whoever holds the terms and however many members there are.
//
// The terms are the leaves of a binary tree: a range of leaves is halved, the first half having the
// odd one, until one is left; each inner node is the sum of its first and its second half. A member
// that holds neighbouring leaves has added up the largest subtrees that lie among them; the owner
// of a part adds these up along the rest of the tree. Floating-point addition is commutative but
// not associative: the same tree gives the same bits.
//
//   leaves 0..7 of three members:  (0 1) 2 | 3 (4 5) | (6 7)
//   every owner:                   ((0 1) + (2 + 3)) + ((4 5) + (6 7))
//
// Symbols: P members, L leaves, N elements in P nearly equal parts.
// Cost: at most 2 log2 L messages of N/P to each other member, where plain summation needs one, and
// as many additions.
// Failure: as direct_reduce_scatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// The leaves [from, to) of the tree.
struct Subtree {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  bool operator==(const Subtree&) const = default;
  bool leaf() const { return to - from == 1; }
  Subtree first_half() const { return {from, to - (to - from) / 2}; }
  Subtree second_half() const { return {to - (to - from) / 2, to}; }
};

// The largest subtrees of the tree of L leaves that lie in [from, to), in order.
std::vector<Subtree> subtrees(std::uint32_t L, std::uint32_t from, std::uint32_t to);

// Whether the sums of these are all that the sum over all leaves is made of.
bool cover(std::uint32_t L, std::span<const Subtree> held);

// Elements [from, to) of the sum over all leaves, to the same places of `out`. `values`: the sums
// of `held`. REQUIRES: these cover the tree.
void add_in_tree(std::uint32_t L, std::span<const Subtree> held,
                 std::span<const float* const> values, std::size_t from, std::size_t to,
                 float* out);

// Who has the sum of a subtree.
struct HeldSum {
  Subtree of;
  Rank holder;
};

// On return `out`, which has the size of the own cut, holds that part of the sum over all leaves.
// `held`: all sums, in the order of their leaves, which they cover; `own`: the ranges of this
// member's, in the same order. REQUIRES: the same held, cuts and operation on all members.
Task<void> fixed_tree_reduce_scatter(const Group& group, std::uint32_t L,
                                     std::span<const HeldSum> held, std::span<const Range> own,
                                     const Cuts& cuts, Range out, std::uint64_t operation);

}  // namespace shoal
