// Ways: a node's contacts, one for each of its carriers. They travel as text, with the views.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "transport/wire/carrier.h"

namespace shoal {

using Ways = std::map<std::string, std::string>;  // carrier name -> contact()

std::string encode_ways(const Ways& ways);
// Throws Corrupt for text that encode_ways cannot have made.
Ways decode_ways(const std::string& text);

// Lets the endpoint look a peer up before it sends to it for the first time. Thread safety: that of
// the implementation.
class PeerDirectory {
 public:
  virtual ~PeerDirectory() = default;
  // Incarnation 0: the newest known one. Empty: unknown.
  struct Listing {
    LifeId life;
    Ways ways;
  };
  virtual std::optional<Listing> find(NodeId node, Incarnation incarnation) const = 0;
};

}  // namespace shoal
