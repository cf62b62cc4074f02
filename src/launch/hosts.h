// The assignment of ranks to hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal {

struct HostShare {
  std::string host;  // in ssh's form; empty: this host
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // the ranks are first, first + 1, ...
  bool operator==(const HostShare&) const = default;
};

// Parses "a,b:2,c". A host may give its number of ranks; if none does, they share the ranks evenly,
// the first ones taking one more. Ranks are assigned in blocks, in the order of the list. Without
// `ranks`, every host takes its number, or one. Throws ConfigError.
std::vector<HostShare> deal_ranks(const std::string& hosts, std::optional<std::uint32_t> ranks);

}  // namespace shoal
