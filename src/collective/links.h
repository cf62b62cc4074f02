// The costs of the links and of adding, measured at the start of a job: what `auto` chooses by.
//
//   two members of one host, then two of different hosts:   ping with few and with many bytes,
//                                                           then a burst of small messages
//   everyone:                                               add two ranges
//   all-gather of what was found;   everyone makes the same model of it
//
// Takes some milliseconds; about a tenth of a second where the link carries 1 Gbit/s.
// Failure: PeerLost or a view change, as any collective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collective/cost.h"
#include "collective/group.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// The buffers of a measurement. They live until the generation is retired.
class LinkRoom {
 public:
  LinkRoom(Endpoint& endpoint, Substance substance);

  Arena data;
  std::vector<std::byte> blocks, room;
};

Task<CostModel> measure_links(const Group& group, LinkRoom& room, std::uint64_t operation);

// The same, unless rank 0 finds what was measured before for as many members on as many hosts in a
// file below `folder`; there it also leaves what is measured now.
Task<CostModel> known_links(const Group& group, LinkRoom& room, std::string folder,
                            std::uint64_t operation);

}  // namespace shoal
