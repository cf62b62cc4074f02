#include "collective/hierarchical.h"

#include <bit>
#include <set>
#include <vector>

#include "collective/cost.h"
#include "collective/direct.h"
#include "collective/steps.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

// direct_reduce_scatter uses round 0. Leaders may use the same rounds among themselves: only
// leaders talk to other hosts.
constexpr std::uint64_t kCollect = 2;
constexpr std::uint64_t kSpread = 3;
constexpr std::uint64_t kLeader = 0;  // the leader's rank within its host

// The members on this one's host.
Group members_here(const Group& group) {
  std::vector<Rank> ranks;
  for (std::uint32_t r = 0; r < group.size(); ++r)
    if (group.on_this_host(group.at(r))) ranks.emplace_back(r);
  return group.among(ranks);
}

// The first member of every host. REQUIRES: this node is the first of its host.
Group leaders_of(const Group& group) {
  std::vector<Rank> ranks;
  std::set<HostId> seen;
  for (std::uint32_t r = 0; r < group.size(); ++r)
    if (seen.insert(group.view->members[r].host).second) ranks.emplace_back(r);
  return group.among(ranks);
}

Task<void> collect(const Group& here, Range data, std::uint64_t operation) {
  const std::uint64_t k = here.size();
  const std::uint64_t r = here.rank.value();
  const Tag tag = here.tag(operation, kCollect);
  if (r != kLeader) {
    co_await here.node.endpoint.send(here.at(kLeader), tag, part_of(data, r, k).bytes());
    co_return;
  }
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t i = 1; i < k; ++i)
      tasks.spawn(receive(here, here.at(i), tag, part_of(data, i, k).bytes()));
    co_return;
  });
}

Task<void> spread(const Group& here, Range data, std::uint64_t operation) {
  const Tag tag = here.tag(operation, kSpread);
  if (here.rank.value() != kLeader) {
    co_await receive(here, here.at(kLeader), tag, data.bytes());
    co_return;
  }
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t i = 1; i < here.size(); ++i)
      tasks.spawn(as_task(here.node.endpoint.send(here.at(i), tag, data.bytes())));
    co_return;
  });
}

}  // namespace

Exchange inner_exchange(std::uint64_t hosts) {
  return std::has_single_bit(hosts) ? Exchange::HalvingDoubling : Exchange::Ring;
}

Task<void> hierarchical_all_reduce(const Group& group, Exchange inner, Range data, Range scratch,
                                   std::uint64_t operation) {
  SHOAL_CHECK(inner != Exchange::Hierarchical, "the leaders are on different hosts");
  const Group here = members_here(group);
  co_await direct_reduce_scatter(here, data, operation);
  co_await collect(here, data, operation);
  if (here.rank.value() == kLeader) {
    const Group leaders = leaders_of(group);
    co_await all_reduce(inner, leaders, data, scratch, operation);
  }
  co_await spread(here, data, operation);
}

namespace {

Task<void> all_reduce_over_hosts(const Group& group, Range data, Range scratch,
                                 std::uint64_t operation) {
  return hierarchical_all_reduce(group, inner_exchange(group.hosts()), data, scratch, operation);
}

// Elsewhere it is another exchange by a longer way.
bool has_levels(const GroupShape& shape) { return !shape.is_flat(); }

double hierarchical_seconds(const CostTerms& t) {
  const std::uint64_t hosts = t.shape.hosts;
  const double inner =
      hosts == 1 ? 0 : predict(inner_exchange(hosts), t.costs, GroupShape{hosts, hosts}, t.size);
  if (t.k == 1) return inner;
  const double others = (t.k - 1) / t.k * t.m;
  return 3 * t.in.alpha + others * (t.gamma + t.in.beta) + inner + (t.k - 1) * t.m * t.in.beta;
}

}  // namespace

constinit const ExchangeAlgorithm kHierarchicalExchange{
    .name = "hierarchical",
    .help = "inside each host, then among the hosts' leaders",
    .all_reduce = all_reduce_over_hosts,
    .seconds = hierarchical_seconds,
    .is_useful = has_levels};

}  // namespace shoal
