// Direct reduce-scatter and all-gather: everyone talks to everyone at once. The members are each
// other's parameter servers, S = P. Also known as scatter-reduce/broadcast.
//
//   reduce-scatter:  give part j to member j, for all j;  own part = g_0 + g_1 + .. + g_(P-1)
//   all-gather:      send own part to all;  receive part j from member j
//
// Symbols: P members, r own rank, N elements in P nearly equal parts; part r is owned by member r.
// Cost: P-1 messages of N/P elements each way in each half, all at once:
// (P-1)/P (T + R) and (P-1)/P T  (SYSTEMS: S = n servers, collective), one latency each.
// On one host nothing is copied to reduce: each member adds up its part where the others' lie, and
// the result stays with its owner.
// A part is added up by its owner alone and in rank order, so that all get the same bits.
// Failure: PeerLost from whoever is lost, at every other member. `data` is then undefined, and busy
// until the generation is retired.
#pragma once

#include <cstdint>
#include <span>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// On return the caller's part of `data`, part_of(data, rank, P), holds the sum of all members';
// nothing else has changed. Both functions may be given the same operation.
// REQUIRES: the same `operation` and the same data.n on all members; data lives until the
// generation is retired.
Task<void> direct_reduce_scatter(const Group& group, Range data, std::uint64_t operation);

// The same out of place: `data` stays as it is, and the sum of the caller's part goes to `own`.
Task<void> direct_reduce_scatter(const Group& group, Range data, Range own,
                                 std::uint64_t operation);

// The same with other parts, and with the terms of some members alone, added in the order given.
// The same cuts and terms on all members.
Task<void> direct_reduce_scatter(const Group& group, Range data, const Cuts& cuts,
                                 std::span<const Rank> terms, std::uint64_t operation);

// On return all of `data` is that of each part's owner.
Task<void> direct_all_gather(const Group& group, Range data, std::uint64_t operation);
Task<void> direct_all_gather(const Group& group, Range data, const Cuts& cuts,
                             std::uint64_t operation);

// Both: on return `data` holds the sum over all members.
Task<void> direct_all_reduce(const Group& group, Range data, std::uint64_t operation);

// The same out of place: `data` stays as it is, and the sum goes to `sum`.
Task<void> direct_all_reduce(const Group& group, Range data, Range sum, std::uint64_t operation);

}  // namespace shoal
