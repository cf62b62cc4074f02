// Neighbour exchange: every member gets the values of its neighbours in some graph, and adds
// nothing. Gossip and other decentral algorithms are built on it. MPI-3's neighbourhood
// collectives: Hoefler & Schneider, "Optimization principles for collective neighborhood
// communications", SC 2012.
//
//   for each neighbour, at once:   send own to it;  receive its values into the room for it
//
// Symbols: deg neighbours of a member, N elements. Cost: deg messages of N elements each way; deg
// T, or L + deg mG, for the member with the most neighbours.
// Failure: PeerLost at the neighbours of the lost member. The rooms are then undefined, and busy
// until the generation is retired.
#pragma once

#include <cstdint>
#include <span>

#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

struct Neighbour {
  NodeId node;
  Range room;  // as large as the neighbour's values
};

// On return every room holds the values of its neighbour; `own` and the rooms live until the
// generation is retired. REQUIRES: neighbours name each other, each exactly once.
Task<void> exchange_with(const Group& group, Range own, std::span<const Neighbour> neighbours,
                         std::uint64_t operation);

}  // namespace shoal
