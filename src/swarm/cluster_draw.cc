#include "swarm/cluster_draw.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "recipe/axes.h"
#include "recipe/registry.h"

namespace shoal {

using namespace std::chrono_literals;

Cluster draw_cluster(Random& random, std::size_t nodes) {
  LinkModel nic;
  nic.latency = random.duration(1us, 2ms);
  nic.bytes_per_s = 1e6 * std::pow(1e3, random.uniform());
  Cluster cluster = Cluster::uniform(nodes, nic);
  // Some share a host, and then its interface and its core.
  if (random.chance(0.4)) {
    const std::uint64_t hosts = random.between(1, nodes);
    for (Placement& p : cluster.nodes)
      p.host = HostId(static_cast<std::uint32_t>(random.below(hosts)));
  }
  for (HostModel& host : cluster.hosts) host.memory = LinkModel{1us, 1e9, Bytes(0)};
  if (random.chance(0.3)) {
    LinkModel uplink = nic;
    uplink.bytes_per_s *= 0.5 + random.uniform();
    cluster.racks.assign(2, uplink);
    for (HostModel& host : cluster.hosts) host.rack = random.below(2);
  }
  // Work is dear in virtual time, so that faults and their detection fall into the run.
  const double scale = std::pow(30, random.uniform());
  cluster.ns_per_element = {1e3 * scale, 4e3 * scale, 1e2, 1e2, 1e2, 1e2, 1e1, 1e1};
  cluster.stragglers.resize(nodes);
  for (Straggler& s : cluster.stragglers) {
    if (!random.chance(0.3)) continue;
    s.kind = static_cast<Straggler::Kind>(random.between(1, 3));
    s.factor = s.kind == Straggler::Kind::Constant ? 1 + 4 * random.uniform()
               : s.kind == Straggler::Kind::Jitter ? 0.5 * random.uniform()
                                                   : 1.1 + random.uniform();
  }
  cluster.completion = Completion::BySeed;
  cluster.cancelled_busy_max = random.duration(10us, 20ms);
  cluster.buggify = true;
  return cluster;
}

std::string recipe_flags(const Recipe& recipe, std::size_t workers, std::uint64_t batch,
                         RuleKind rule) {
  return fmt::format("--workers {} --batch {} --optimizer {} {}", workers, batch, to_string(rule),
                     flags_between(find_system("shoal").recipe, recipe));
}

}  // namespace shoal
