#include "collective/butterfly.h"

#include <bit>
#include <vector>

#include "collective/cost_terms.h"
#include "collective/exchange.h"
#include "collective/fold.h"
#include "collective/reduce.h"
#include "collective/steps.h"

namespace shoal {
namespace {

// Uses send, not give: the peer must not add to a range that this member still reads. See SumOp.
Task<void> double_up(const Group& group, Range data, Range sum, Range scratch,
                     std::uint64_t operation) {
  Endpoint& endpoint = group.node.endpoint;
  Range mine = data;
  std::uint64_t round = 2;
  for (std::uint64_t d = 1; d < group.size(); d *= 2, ++round) {
    const NodeId partner = group.at(group.rank.value() ^ d);
    const Tag tag = group.tag(operation, round);
    const auto done =
        co_await all(endpoint.send(partner, tag, mine.bytes()),
                     SumOp(endpoint, Match{.from = partner, .tag = tag}, scratch, mine, sum));
    const SumOp::Result& came = std::get<1>(done);
    require_size(came.received, data.bytes().size);
    if (!came.summed) {
      std::vector<const float*> terms{mine.data().data(), scratch.data().data()};
      co_await sum_up(group.node.env, sum, 2, std::move(terms));
    }
    mine = sum;
  }
}

Task<void> double_up_in_place(const Group& group, Range data, Range scratch,
                              std::uint64_t operation) {
  return double_up(group, data, data, scratch, operation);
}

}  // namespace

Task<void> butterfly_all_reduce(const Group& group, Range data, Range scratch,
                                std::uint64_t operation) {
  return folded(group, double_up_in_place, data, scratch, operation);
}

Task<void> butterfly_all_reduce(const Group& group, Range data, Range sum, Range scratch,
                                std::uint64_t operation) {
  SHOAL_CHECK(group.size() > 1 && std::has_single_bit(group.size()));
  return double_up(group, data, sum, scratch, operation);
}

namespace {

// The formulas leave out what a round costs the members themselves. Another exchange must be
// clearly cheaper than this one, which has the fewest rounds.
constexpr double kFewestRounds = 0.8;

double butterfly_seconds(const CostTerms& t) {
  const PowerOfTwoRounds r(t);
  return r.abroad * (t.out.alpha + t.k * t.m * t.out.beta) +
         r.at_home * (t.in.alpha + t.m * t.in.beta) + (r.abroad + r.at_home) * t.m * t.gamma +
         fold_seconds(t, r);
}

}  // namespace

constinit const ExchangeAlgorithm kButterflyExchange{
    .name = "butterfly",
    .help = "members swap whole sums in log2 P rounds",
    .all_reduce = butterfly_all_reduce,
    .seconds = butterfly_seconds,
    .all_reduce_to = butterfly_all_reduce,
    .is_without_copy = [](std::uint64_t P) { return P > 1 && std::has_single_bit(P); },
    .weight = kFewestRounds};

}  // namespace shoal
