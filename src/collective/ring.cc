#include "collective/ring.h"

#include "collective/reduce.h"

namespace shoal {

Task<void> ring_all_reduce(const Group& group, Range data, Range scratch, std::uint64_t operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  if (P == 1) co_return;
  Endpoint& endpoint = group.node.endpoint;
  const NodeId next = group.peer(+1);
  const NodeId previous = group.peer(-1);
  const auto chunk = [&](std::uint64_t i) { return part_of(data, i % P, P); };

  // Reduce-scatter: each chunk goes once around, and every member adds its own to it.
  for (std::uint64_t s = 0; s + 1 < P; ++s) {
    const Range out = chunk(r + P - s);
    const Range mine = chunk(r + 2 * P - s - 1);
    const Range received = scratch.slice(Elements(0), mine.n);
    const Tag tag = group.tag(operation, s);
    const auto done =
        co_await all(endpoint.send(next, tag, out.bytes()),
                     endpoint.recv(Match{.from = previous, .tag = tag}, received.bytes()));
    require_size(std::get<1>(done), received.bytes().size);
    co_await group.node.env.work(Work::Reduce, mine.n, [&] { add(mine.data(), received.data()); });
  }
  // All-gather: the finished chunks go around once more.
  for (std::uint64_t s = 0; s + 1 < P; ++s) {
    const Range out = chunk(r + P - s + 1);
    const Range in = chunk(r + P - s);
    const Tag tag = group.tag(operation, P + s);
    const auto done = co_await all(endpoint.send(next, tag, out.bytes()),
                                   endpoint.recv(Match{.from = previous, .tag = tag}, in.bytes()));
    require_size(std::get<1>(done), in.bytes().size);
  }
}

}  // namespace shoal
