// Ways: how a node is reached, by each of its carriers. It travels as text, with the views.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "transport/wire/carrier.h"

namespace shoal {

using Ways = std::map<std::string, std::string>;  // carrier name -> what its contact() said

std::string encode_ways(const Ways& ways);
// Throws Corrupt for what encode_ways cannot have made.
Ways decode_ways(const std::string& text);

// Where the endpoint looks a peer up, before it sends to it for the first time.
// Thread safety: as its implementation says.
class PeerDirectory {
 public:
  virtual ~PeerDirectory() = default;
  // Incarnation 0: the newest life known. Nothing: unknown.
  struct Listing {
    LifeId life;
    Ways ways;
  };
  virtual std::optional<Listing> find(NodeId node, Incarnation incarnation) const = 0;
};

}  // namespace shoal
