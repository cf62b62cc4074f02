// Which host runs which ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shoal {

struct HostShare {
  std::string host;  // as ssh takes it; empty: this one
  std::uint32_t first = 0;
  std::uint32_t count = 0;  // its ranks are first, first + 1, ...
  bool operator==(const HostShare&) const = default;
};

// "a,b:2,c": a host may say how many ranks it takes; if none does, they share the ranks evenly, the
// first ones taking one more. Ranks are dealt block by block, in the order of the list. Without
// `ranks`, every host takes what it says, or one. Throws ConfigError.
std::vector<HostShare> deal_ranks(const std::string& hosts, std::optional<std::uint32_t> ranks);

}  // namespace shoal
