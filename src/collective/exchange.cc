#include "collective/exchange.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "collective/butterfly.h"
#include "collective/direct.h"
#include "collective/double_tree.h"
#include "collective/halving_doubling.h"
#include "collective/hierarchical.h"
#include "collective/ring.h"
#include "collective/tree.h"

namespace shoal {
namespace {

constexpr std::array<std::string_view, kExchanges> kNames = {
    "auto", "ring",        "butterfly", "halving-doubling",
    "tree", "double-tree", "direct",    "hierarchical"};

}  // namespace

std::string_view to_string(Exchange exchange) { return kNames[static_cast<std::size_t>(exchange)]; }

Exchange parse_exchange(std::string_view name) {
  for (std::size_t i = 0; i < kExchanges; ++i)
    if (kNames[i] == name) return static_cast<Exchange>(i);
  const std::vector<std::string> known(kNames.begin(), kNames.end());
  throw ConfigError(fmt::format("unknown exchange '{}'. {}", name, suggest(name, known)));
}

Task<void> all_reduce(Exchange exchange, const Group& group, Range data, Range scratch,
                      std::uint64_t operation) {
  switch (exchange) {
    case Exchange::Ring: return ring_all_reduce(group, data, scratch, operation);
    case Exchange::Butterfly: return butterfly_all_reduce(group, data, scratch, operation);
    case Exchange::HalvingDoubling:
      return halving_doubling_all_reduce(group, data, scratch, operation);
    case Exchange::Tree: return tree_all_reduce(group, data, scratch, operation);
    case Exchange::DoubleTree: return double_tree_all_reduce(group, data, scratch, operation);
    case Exchange::Direct: return direct_all_reduce(group, data, operation);
    case Exchange::Hierarchical:
      return hierarchical_all_reduce(group, inner_exchange(group.hosts()), data, scratch,
                                     operation);
    case Exchange::Auto: break;
  }
  SHOAL_CHECK(false, "the exchange was not chosen: see cost.h");
  return ring_all_reduce(group, data, scratch, operation);
}

}  // namespace shoal
