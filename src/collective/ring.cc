#include "collective/ring.h"

#include "collective/cost_terms.h"
#include "collective/exchange.h"
#include "collective/steps.h"
#include "runtime/task_group.h"

namespace shoal {

Task<void> ring_reduce_scatter(const Group& group, Range data, Range scratch,
                               std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  if (P == 1) co_return;
  const NodeId next = group.peer(+1);
  const NodeId previous = group.peer(-1);
  const auto chunk = [&](std::uint64_t i) { return part_of(data, i % P, P); };
  // Each chunk goes around once, and every member adds its own values to it.
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t s = 0; s + 1 < P; ++s) {
      const Tag tag = group.tag(operation, s);
      tasks.spawn(as_task(give(group, next, tag, chunk(r + P - s - 1))));
      const Range mine = chunk(r + 2 * P - s - 2);
      co_await add_given(group, previous, tag, mine, scratch.slice(Elements(0), mine.n));
    }
  });
}

Task<void> ring_all_gather(const Group& group, Range data, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  if (P == 1) co_return;
  Endpoint& endpoint = group.node.endpoint;
  const NodeId next = group.peer(+1);
  const NodeId previous = group.peer(-1);
  const auto chunk = [&](std::uint64_t i) { return part_of(data, i % P, P); };
  // The finished chunks go around a second time.
  for (std::uint64_t s = 0; s + 1 < P; ++s) {
    const Range out = chunk(r + P - s);
    const Range in = chunk(r + P - s - 1);
    const Tag tag = group.tag(operation, P + s);
    const auto done = co_await all(endpoint.send(next, tag, out.bytes()),
                                   endpoint.recv(Match{.from = previous, .tag = tag}, in.bytes()));
    require_size(std::get<1>(done), in.bytes().size);
  }
}

Task<void> ring_all_reduce(const Group& group, Range data, Range scratch, std::uint64_t operation) {
  co_await ring_reduce_scatter(group, data, scratch, operation);
  co_await ring_all_gather(group, data, operation);
}

namespace {

double ring_seconds(const CostTerms& t) {
  const double part = t.m / t.P;
  // Where several members share a host, what waits for the link between hosts hides the rest.
  if (t.far && t.k > 1)
    return 2 * (t.H - 1) * t.out.alpha + 2 * (t.P - 1) * part * t.out.beta + 2 * t.k * t.in.alpha;
  return (t.P - 1) * (t.given(part) + t.link.alpha + part * t.link.beta + part * t.gamma);
}

}  // namespace

constinit const ExchangeAlgorithm kRingExchange{.name = "ring",
                                                .help = "each member forwards parts to the next",
                                                .all_reduce = ring_all_reduce,
                                                .seconds = ring_seconds};

}  // namespace shoal
