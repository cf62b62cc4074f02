// Star all-reduce: rank 0 adds up what all others send, and sends them the sum.
//
// Symbols: P members, N elements. Cost: P-1 messages of N elements in, one after the other, and as
// many out: 2 (P-1) (L + mG) and P-1 reductions at rank 0. For few members.
// Only rank 0 adds, in rank order: the same bits everywhere.
// Failure: PeerLost at rank 0 or by it; others see a view change. `data` is then undefined, and
// busy until the generation is retired.
#include <vector>

#include "collective/cost_terms.h"
#include "collective/exchange.h"
#include "collective/reduce.h"
#include "collective/steps.h"

namespace shoal {
namespace {

constexpr std::uint64_t kIn = 0;
constexpr std::uint64_t kOut = 1;

Task<void> star_all_reduce(const Group& group, Range data, Range scratch, std::uint64_t operation) {
  const Tag in = group.tag(operation, kIn);
  const Tag out = group.tag(operation, kOut);
  Endpoint& endpoint = group.node.endpoint;
  if (group.rank != Rank(0)) {
    co_await endpoint.send(group.at(0), in, data.bytes());
    co_await receive(group, group.at(0), out, data.bytes());
    co_return;
  }
  for (std::uint64_t r = 1; r < group.size(); ++r) {
    co_await receive(group, group.at(r), in, scratch.bytes());
    std::vector<const float*> terms{data.data().data(), scratch.data().data()};
    co_await sum_up(group.node.env, data, 2, std::move(terms));
  }
  for (std::uint64_t r = 1; r < group.size(); ++r)
    co_await endpoint.send(group.at(r), out, data.bytes());
}

double star_seconds(const CostTerms& t) {
  return (t.P - 1) * (2 * (t.link.alpha + t.m * t.link.beta) + t.m * t.gamma);
}

}  // namespace

constinit const ExchangeAlgorithm kStarExchange{
    .name = "star",
    .help = "rank 0 adds up what all send, and sends it back",
    .all_reduce = star_all_reduce,
    .seconds = star_seconds};

}  // namespace shoal
