// A sum in one fixed order, independent of the number of members and of how the terms are spread.
//
// The terms are the leaves of a binary tree. A range of leaves is halved until one is left; an odd
// leaf goes to the first half. Each inner node is the sum of its two halves. A member that holds
// consecutive leaves adds up the largest subtrees among them; the owner of a part adds these sums
// along the rest of the tree. Floating-point addition is commutative but not associative: the same
// tree gives the same bits.
//
//   leaves 0..7 at three members:  (0 1) 2 | 3 (4 5) | (6 7)
//   every owner computes:          ((0 1) + (2 + 3)) + ((4 5) + (6 7))
//
// Symbols: P members, L leaves, N elements in P nearly equal parts.
// Cost: at most 2 log2 L messages of N/P elements to each other member, where plain summation needs
// one, and as many additions.
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

// The largest subtrees, in a tree of L leaves, that lie in [from, to), in order.
std::vector<Subtree> subtrees(std::uint32_t L, std::uint32_t from, std::uint32_t to);

// Whether the subtrees `held` cover all L leaves.
bool cover(std::uint32_t L, std::span<const Subtree> held);

// Writes elements [from, to) of the sum over all leaves to the same places of `out`. `values`: the
// sums of `held`. REQUIRES: `held` covers the tree.
void add_in_tree(std::uint32_t L, std::span<const Subtree> held,
                 std::span<const float* const> values, std::size_t from, std::size_t to,
                 float* out);

// The member that has the sum of a subtree.
struct HeldSum {
  Subtree of;
  Rank holder;
};

// On return `out`, which has the size of the caller's cut, holds that part of the sum over all
// leaves. `held`: all sums, in the order of their leaves; `own`: the ranges of this member's sums,
// in the same order. REQUIRES: `held` covers the tree; the same held, cuts and operation on all
// members.
Task<void> fixed_tree_reduce_scatter(const Group& group, std::uint32_t L,
                                     std::span<const HeldSum> held, std::span<const Range> own,
                                     const Cuts& cuts, Range out, std::uint64_t operation);

}  // namespace shoal
