// Hierarchical all-reduce: inside each host by its memory, and one leader of each between the
// hosts, as ChainerMN does it: Akiba, Fukuda, Suzuki, "ChainerMN: scalable distributed deep
// learning framework", LearningSys at NIPS 2017, arXiv:1710.11351.
//
//   inside a host:   each member adds up its part where the others' lie;  the leader copies them
//   leaders:         all-reduce among themselves, by the inner exchange
//   inside a host:   all copy the sum from their leader
//
// Symbols: H hosts with k members each, N elements, M the time to copy N elements inside a host.
// Cost: (k-1)/k (R + M) + that of the inner exchange among H + (k-1) M, the last term being M where
// members copy at once. Between hosts go the bytes of H members, however many each host has.
// The inner exchange gives all leaders the same bits, and the others copy them.
// Failure: PeerLost inside the host, and among leaders as the inner exchange says; others see a
// view change. `data` is then undefined on all members, and busy until the generation is retired.
#pragma once

#include <cstdint>

#include "collective/exchange.h"
#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// What leaders of so many hosts use by themselves: as few bytes as any, and for powers of two as
// few rounds.
Exchange inner_exchange(std::uint64_t hosts);

// On return `data` holds the sum over all members. `scratch` has the size of data; both live until
// the generation is retired. Hosts may have different numbers of members.
// REQUIRES: the same inner exchange, which is not Hierarchical, operation and data.n everywhere.
Task<void> hierarchical_all_reduce(const Group& group, Exchange inner, Range data, Range scratch,
                                   std::uint64_t operation);

}  // namespace shoal
