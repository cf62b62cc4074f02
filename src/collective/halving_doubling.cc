#include "collective/halving_doubling.h"

#include <cmath>

#include "collective/cost_terms.h"
#include "collective/exchange.h"
#include "collective/fold.h"
#include "collective/steps.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

// The rounds of the two phases; each phase has fewer than 64.
constexpr std::uint64_t kHalving = 2;
constexpr std::uint64_t kDoubling = 66;

// Blocks first .. first + count - 1 of P.
Range run_of(Range data, std::uint64_t first, std::uint64_t count, std::uint64_t P) {
  const Range begin = part_of(data, first, P);
  const Range end = part_of(data, first + count - 1, P);
  return {data.arena, begin.at, end.at + end.n - begin.at};
}

Task<void> halve(const Group& group, Range data, Range scratch, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    std::uint64_t round = kHalving;
    for (std::uint64_t d = P / 2; d > 0; d /= 2, ++round) {
      const NodeId partner = group.at(r ^ d);
      const Tag tag = group.tag(operation, round);
      // Keeps d blocks of the run that holds block r, and gives away the blocks beside them.
      const std::uint64_t kept = r / d * d;
      const Range mine = run_of(data, kept, d, P);
      tasks.spawn(as_task(give(group, partner, tag, run_of(data, kept ^ d, d, P))));
      co_await add_given(group, partner, tag, mine, scratch.slice(Elements(0), mine.n));
    }
  });
}

Task<void> double_back(const Group& group, Range data, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  Endpoint& endpoint = group.node.endpoint;
  std::uint64_t round = kDoubling;
  for (std::uint64_t d = 1; d < P; d *= 2, ++round) {
    const NodeId partner = group.at(r ^ d);
    const Tag tag = group.tag(operation, round);
    const std::uint64_t held = r / d * d;
    const Range mine = run_of(data, held, d, P);
    const Range theirs = run_of(data, held ^ d, d, P);
    const auto done =
        co_await all(endpoint.send(partner, tag, mine.bytes()),
                     endpoint.recv(Match{.from = partner, .tag = tag}, theirs.bytes()));
    require_size(std::get<1>(done), theirs.bytes().size);
  }
}

Task<void> halve_and_double(const Group& group, Range data, Range scratch,
                            std::uint64_t operation) {
  co_await halve(group, data, scratch, operation);
  co_await double_back(group, data, operation);
}

}  // namespace

Task<void> halving_doubling_all_reduce(const Group& group, Range data, Range scratch,
                                       std::uint64_t operation) {
  return folded(group, halve_and_double, data, scratch, operation);
}

namespace {

double halving_doubling_seconds(const CostTerms& t) {
  const PowerOfTwoRounds r(t);
  const double hosts = std::exp2(r.abroad);
  const double abroad = 2 * (r.abroad * t.out.alpha + t.k * t.m * (1 - 1 / hosts) * t.out.beta);
  const double at_home = 2 * r.at_home * t.in.alpha + t.m / hosts * (1 - hosts / r.Q) * t.in.beta;
  return abroad + at_home + (r.Q - 1) / r.Q * t.m * t.gamma + fold_seconds(t, r);
}

}  // namespace

constinit const ExchangeAlgorithm kHalvingDoublingExchange{
    .name = "halving-doubling",
    .help = "members swap halves, then halves of these, and back",
    .all_reduce = halving_doubling_all_reduce,
    .seconds = halving_doubling_seconds};

}  // namespace shoal
