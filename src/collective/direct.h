// Direct reduce-scatter and all-gather: every member talks to every other at once. Each member is
// the parameter server of one part, S = P. Also known as scatter-reduce/broadcast.
//
//   reduce-scatter:  give part j to member j, for all j;  own part = g_0 + g_1 + .. + g_(P-1)
//   all-gather:      send own part to all;  receive part j from member j
//
// Symbols: P members, r own rank, N elements in P nearly equal parts; part r is owned by member r.
// Cost: P-1 messages of N/P elements each way in each half, all at once:
// (P-1)/P (T + R) and (P-1)/P T  (SYSTEMS: S = n servers, collective), one latency each.
// On one host the reduction copies nothing: each member adds up its part in the others' memory, and
// the result stays with its owner.
// Only the owner of a part adds it up, in rank order, so that all members get the same bits.
// Failure: PeerLost at every other member. `data` is then undefined, and busy until the
// generation is retired.
#pragma once

#include <cstdint>
#include <span>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// On return the caller's part of `data`, part_of(data, rank, P), holds the sum over all members;
// nothing else has changed. The all-gather may use the same operation. `data` lives until the
// generation is retired. REQUIRES: the same `operation` and the same data.n on all members.
Task<void> direct_reduce_scatter(const Group& group, Range data, std::uint64_t operation);

// Out of place: `data` is not changed, and `own` receives the sum of the caller's part.
Task<void> direct_reduce_scatter(const Group& group, Range data, Range own,
                                 std::uint64_t operation);

// With other parts, and the terms of some members only, added in the order given. REQUIRES: the
// same cuts and terms on all members.
Task<void> direct_reduce_scatter(const Group& group, Range data, const Cuts& cuts,
                                 std::span<const Rank> terms, std::uint64_t operation);

// On return every part of `data` is a copy of its owner's.
Task<void> direct_all_gather(const Group& group, Range data, std::uint64_t operation);
Task<void> direct_all_gather(const Group& group, Range data, const Cuts& cuts,
                             std::uint64_t operation);

// Reduce-scatter and all-gather: on return `data` holds the sum over all members.
Task<void> direct_all_reduce(const Group& group, Range data, std::uint64_t operation);

// Out of place: `data` is not changed, and `sum` receives the sum.
Task<void> direct_all_reduce(const Group& group, Range data, Range sum, std::uint64_t operation);

}  // namespace shoal
