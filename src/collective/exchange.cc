#include "collective/exchange.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
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
#include "runtime/task_group.h"

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

namespace {

constexpr std::uint64_t kUnderWay = 4;

Task<void> copy_and_reduce(Exchange exchange, const Group& group, Range data, Range sum,
                           Range scratch, std::uint64_t operation) {
  co_await group.node.env.work(Work::Copy, data.n, [&] { copy(data.bytes(), sum.bytes()); });
  co_await all_reduce(exchange, group, sum, scratch, operation);
}

// From `data` to `sum`, which may be one.
Task<void> all_reduce(Exchange exchange, const Group& group, Range data, Range sum, Range scratch,
                      std::uint64_t operation) {
  if (data.arena == sum.arena && data.at == sum.at)
    return all_reduce(exchange, group, sum, scratch, operation);
  if (exchange == Exchange::Direct) return direct_all_reduce(group, data, sum, operation);
  const bool swaps_at_once = group.size() > 1 && std::has_single_bit(group.size());
  if (exchange == Exchange::Butterfly && swaps_at_once)
    return butterfly_all_reduce(group, data, sum, scratch, operation);
  return copy_and_reduce(exchange, group, data, sum, scratch, operation);
}

// Every `kUnderWay`-th piece from `first` on, one after the other.
Task<void> some_pieces(Exchange exchange, const Group& group, Range data, Range sum, Range scratch,
                       std::uint64_t operation, std::uint64_t pieces, std::uint64_t first) {
  for (std::uint64_t i = first; i < pieces; i += kUnderWay)
    co_await all_reduce(exchange, group, part_of(data, i, pieces), part_of(sum, i, pieces),
                        part_of(scratch, i, pieces), operation + i);
}

Task<void> all_pieces(Exchange exchange, const Group& group, Range data, Range sum, Range scratch,
                      std::uint64_t operation, std::uint64_t pieces) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t first = 0; first < std::min(pieces, kUnderWay); ++first)
      tasks.spawn(some_pieces(exchange, group, data, sum, scratch, operation, pieces, first));
    co_return;
  });
}

}  // namespace

std::uint64_t pieces_of(Elements n, Elements piece) {
  return std::max<std::uint64_t>(1, (n.value() + piece.value() - 1) / piece.value());
}

Task<void> all_reduce_in_pieces(Exchange exchange, const Group& group, Range data, Range sum,
                                Range scratch, std::uint64_t operation, Elements piece) {
  SHOAL_CHECK_EQ(data.n, sum.n);
  const std::uint64_t pieces = pieces_of(data.n, piece);
  if (pieces == 1) return all_reduce(exchange, group, data, sum, scratch, operation);
  return all_pieces(exchange, group, data, sum, scratch, operation, pieces);
}

}  // namespace shoal
