// One rank of a job that runs every collective once, between real processes, and checks each.
//
//   shoal launch -n 4 -- live_collective_rank shm 4
#include <fmt/core.h>

#include <exception>
#include <string>
#include <vector>

#include "base/error.h"
#include "collective/all_to_all.h"
#include "collective/cost.h"
#include "collective/direct.h"
#include "collective/dissemination.h"
#include "collective/exchange.h"
#include "collective/links.h"
#include "collective/neighbours.h"
#include "collective/ring.h"
#include "collective/tree.h"
#include "launch/process.h"

namespace shoal {
namespace {

constexpr GroupId kGroup{1};

void require(bool right, const std::string& what) {
  if (!right) throw Error(fmt::format("{} is wrong", what));
}

float coded(std::uint64_t r, std::uint64_t i) {
  return static_cast<float>((r + 1) * (i % 1000 + 1));
}

// The buffers of all collectives, of n elements for each member.
struct Memory {
  Memory(Node& node, std::uint64_t n)
      : data(node.endpoint, Elements(n), Substance::Real),
        other(node.endpoint, Elements(n), Substance::Real),
        links(node.endpoint, Substance::Real) {}
  void fill(std::uint64_t r) {
    for (std::uint64_t i = 0; i < data.size().value(); ++i) data.data()[i] = coded(r, i);
  }
  Arena data;
  Arena other;
  LinkRoom links;
};

bool holds_sum(const Range& range, std::uint64_t at, std::uint64_t P) {
  for (std::uint64_t i = 0; i < range.n.value(); ++i) {
    const auto sum = static_cast<float>(P * (P + 1) / 2 * ((at + i) % 1000 + 1));
    if (range.data()[i] != sum) return false;
  }
  return true;
}

Task<void> sums(const Group& group, Memory& m, std::uint64_t& operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  const Range data = m.data.all();
  for (const Exchange exchange : kAllReduces) {
    m.fill(r);
    co_await all_reduce(exchange, group, data, m.other.all(), ++operation);
    require(holds_sum(data, 0, P), std::string(to_string(exchange)));
  }
  const Range own = part_of(data, r, P);
  m.fill(r);
  co_await direct_reduce_scatter(group, data, ++operation);
  require(holds_sum(own, own.at.value(), P), "direct reduce-scatter");
  co_await direct_all_gather(group, data, operation);
  require(holds_sum(data, 0, P), "direct all-gather");
  m.fill(r);
  co_await ring_reduce_scatter(group, data, m.other.all(), ++operation);
  require(holds_sum(own, own.at.value(), P), "ring reduce-scatter");
  co_await ring_all_gather(group, data, operation);
  require(holds_sum(data, 0, P), "ring all-gather");
  m.fill(r);
  const Rank root(1);
  co_await tree_reduce(group, root, data, m.other.all(), ++operation);
  require(group.rank != root || holds_sum(data, 0, P), "tree reduce");
  co_await tree_broadcast(group, root, data, operation);
  require(holds_sum(data, 0, P), "tree broadcast");
}

Task<void> others(const Group& group, Memory& m, std::uint64_t& operation) {
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  m.fill(r);
  co_await all_to_all(group, m.data.all(), m.other.all(), ++operation);
  const std::uint64_t n = m.data.size().value() / P;
  for (std::uint64_t i = 0; i < n * P; ++i)
    require(m.other.data()[i] == coded(i / n, r * n + i % n), "all-to-all");
  const std::vector<Neighbour> beside = {{group.at(r ^ 1U), m.other.all()}};
  co_await exchange_with(group, m.data.all(), beside, ++operation);
  for (std::uint64_t i = 0; i < n * P; ++i)
    require(m.other.data()[i] == coded(r ^ 1U, i), "neighbour exchange");
  const CostModel costs = co_await measure_links(group, m.links, ++operation);
  require(costs.inside.alpha > 0 && costs.gamma > 0, "a cost");
  const Choice choice = choose(costs, shape_of(group), m.data.bytes().size);
  if (r == 0) fmt::print("auto: {}\n", choice.why);
  co_await barrier(group, ++operation);
}

Task<void> worker(Node& node, std::size_t P) {
  while (node.membership.now().size() < P)
    co_await node.membership.after(node.membership.now().generation);
  const Group group(node, kGroup, std::make_shared<const View>(node.membership.now()));
  std::uint64_t operation = 0;
  for (const std::uint64_t n : {std::uint64_t{4}, std::uint64_t{1024}, std::uint64_t{400'000}}) {
    Memory memory(node, n);
    co_await sums(group, memory, operation);
    co_await others(group, memory, operation);
    // No rank frees memory that another may still read.
    co_await barrier(group, ++operation);
  }
  co_await node.endpoint.retire(kGroup, group.view->generation);
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  using namespace shoal;
  try {
    if (argc != 3) throw ConfigError("expected a transport and the number of ranks");
    const std::size_t P = std::stoul(argv[2]);
    FromEnvironment env = process_from_environment(environment_of_this_process());
    env.options.transports = {argv[1]};
    Process process(env.options);
    process.run([&](Node& node) { return worker(node, P); });
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank: {}\n", error.what());
    return 1;
  }
}
