// Hierarchical all-reduce: through shared memory inside each host, and among one leader of each
// host between hosts, as in ChainerMN: Akiba, Fukuda, Suzuki, "ChainerMN: scalable distributed deep
// learning framework", LearningSys at NIPS 2017, arXiv:1710.11351.
//
//   inside a host:   each member adds up its part in the others' memory;  the leader copies all
//   leaders:         all-reduce among themselves, by the inner exchange
//   inside a host:   all copy the sum from their leader
//
// Symbols: H hosts with k members each, N elements, M the time to copy N elements inside a host.
// Cost: (k-1)/k (R + M) + the cost of the inner exchange among H + (k-1) M; the last term is M
// where members copy at once. The bytes between hosts are those of H members, for any k.
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

// The default exchange among the leaders of so many hosts: bandwidth-optimal, and for powers of two
// with few rounds.
Exchange inner_exchange(std::uint64_t hosts);

// On return `data` holds the sum over all members. `scratch` has the size of data; both live until
// the generation is retired. Hosts may have different numbers of members. REQUIRES: the same
// `inner` (not Hierarchical), operation and data.n on all members.
Task<void> hierarchical_all_reduce(const Group& group, Exchange inner, Range data, Range scratch,
                                   std::uint64_t operation);

}  // namespace shoal
