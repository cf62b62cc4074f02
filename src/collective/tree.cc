#include "collective/tree.h"

#include <algorithm>
#include <bit>

#include "collective/cost_terms.h"
#include "collective/exchange.h"
#include "collective/steps.h"

namespace shoal {
namespace {

constexpr std::uint64_t kUp = 0;
constexpr std::uint64_t kDown = 1;

// Translates ranks counted from the root.
struct Turned {
  const Group& group;
  std::uint64_t root;
  std::uint64_t own() const { return (group.rank.value() + group.size() - root) % group.size(); }
  NodeId at(std::uint64_t v) const { return group.at((v + root) % group.size()); }
};

}  // namespace

Task<void> tree_reduce(const Group& group, Rank root, Range data, Range scratch,
                       std::uint64_t operation) {
  const Turned turned{group, root.value()};
  const std::uint64_t v = turned.own();
  const Tag tag = group.tag(operation, kUp);
  for (std::uint64_t d = 1; d < group.size(); d *= 2) {
    if ((v & d) != 0) {
      co_await give(group, turned.at(v - d), tag, data);
      co_return;
    }
    if (v + d < group.size()) co_await add_given(group, turned.at(v + d), tag, data, scratch);
  }
}

Task<void> tree_broadcast(const Group& group, Rank root, Range data, std::uint64_t operation) {
  const Turned turned{group, root.value()};
  const std::uint64_t v = turned.own();
  const Tag tag = group.tag(operation, kDown);
  for (std::uint64_t d = std::bit_ceil(group.size()) / 2; d > 0; d /= 2) {
    const std::uint64_t below = v & (2 * d - 1);
    if (below == d) {
      co_await receive(group, turned.at(v - d), tag, data.bytes());
    } else if (below == 0 && v + d < group.size()) {
      co_await group.node.endpoint.send(turned.at(v + d), tag, data.bytes());
    }
  }
}

Task<void> tree_all_reduce(const Group& group, Range data, Range scratch, std::uint64_t operation) {
  co_await tree_reduce(group, Rank(0), data, scratch, operation);
  co_await tree_broadcast(group, Rank(0), data, operation);
}

namespace {

double tree_seconds(const CostTerms& t) {
  const double abroad = t.far ? rounds_among(t.shape.hosts) : 0;
  const double at_home = std::max(0.0, rounds_among(t.shape.members) - abroad);
  return 2 * abroad * (t.out.alpha + t.m * t.out.beta) +
         at_home * (2 * t.in.alpha + t.m * t.in.beta) + (abroad + at_home) * t.m * t.gamma;
}

}  // namespace

constinit const ExchangeAlgorithm kTreeExchange{.name = "tree",
                                                .help = "up a tree to the root, and down again",
                                                .all_reduce = tree_all_reduce,
                                                .seconds = tree_seconds};

}  // namespace shoal
