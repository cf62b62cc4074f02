// Measures the costs of links and of additions at the start of a job; `auto` chooses by them.
//
//   two members of one host, then two of different hosts:   ping with few and with many bytes,
//                                                           then a burst of small messages
//   all members:                                            add two ranges
//   all-gather of the measurements;   all members derive the same model from them
//
// Takes some milliseconds, and about a tenth of a second over a link of 1 Gbit/s.
// Failure: PeerLost or a view change, as for any collective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/cost.h"
#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// The buffers of a measurement; they live until the generation is retired.
class LinkRoom {
 public:
  LinkRoom(Endpoint& endpoint, Substance substance);

  Arena data;
  std::vector<std::byte> blocks, room;
};

Task<CostModel> measure_links(const Group& group, LinkRoom& room, std::uint64_t operation);

// The same with a cache: rank 0 looks below `folder` for an earlier measurement with as many
// members on as many hosts, and writes a new one there if it finds none.
Task<CostModel> known_links(const Group& group, LinkRoom& room, std::string folder,
                            std::uint64_t operation);

}  // namespace shoal
