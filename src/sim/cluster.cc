#include "sim/cluster.h"

#include <fmt/format.h>

namespace shoal {

Cluster Cluster::uniform(std::size_t count, LinkModel nic) {
  Cluster cluster;
  for (std::size_t i = 0; i < count; ++i) {
    HostModel host;
    host.nic = nic;
    host.memory = nic;
    cluster.hosts.push_back(host);
    cluster.nodes.push_back(Placement{HostId(static_cast<std::uint32_t>(i)), Role::Worker});
  }
  return cluster;
}

std::string describe(const Cluster& c) {
  std::string text =
      fmt::format("{} nodes on {} hosts, {} racks", c.nodes.size(), c.hosts.size(), c.racks.size());
  if (!c.hosts.empty()) {
    const LinkModel& nic = c.hosts.front().nic;
    text += fmt::format(", links {:.2f} Gbit/s {:.1f} us", nic.bytes_per_s * 8e-9,
                        seconds(nic.latency) * 1e6);
  }
  static constexpr const char* kCompletion[] = {"at once", "when matched", "by seed"};
  text += fmt::format(", sends complete {}", kCompletion[static_cast<std::size_t>(c.completion)]);
  for (std::size_t i = 0; i < c.stragglers.size(); ++i) {
    static constexpr const char* kKind[] = {"", "constant", "jitter", "heavy tail", "exponential"};
    const Straggler& s = c.stragglers[i];
    if (s.kind != Straggler::Kind::None)
      text += fmt::format(", node {} slow ({} {:.2f})", i, kKind[static_cast<std::size_t>(s.kind)],
                          s.factor);
  }
  if (c.timing_only) text += ", timing only";
  if (c.buggify) text += ", buggify";
  return text;
}

}  // namespace shoal
