#include "sim/cluster.h"

#include <fmt/format.h>

#include "base/names.h"

namespace shoal {
namespace {

constexpr auto kCompletionNames = names<Completion>({{Completion::AtOnce, "at once"},
                                                     {Completion::WhenMatched, "when matched"},
                                                     {Completion::BySeed, "by seed"}});
using StragglerKind = Straggler::Kind;
constexpr auto kStragglerNames =
    names<StragglerKind>({{StragglerKind::None, "none"},
                          {StragglerKind::Constant, "constant"},
                          {StragglerKind::Jitter, "jitter"},
                          {StragglerKind::HeavyTail, "heavy tail"},
                          {StragglerKind::Exponential, "exponential"}});

}  // namespace

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
  text += fmt::format(", sends complete {}", kCompletionNames.of(c.completion));
  for (std::size_t i = 0; i < c.stragglers.size(); ++i) {
    const Straggler& s = c.stragglers[i];
    if (s.kind != Straggler::Kind::None)
      text += fmt::format(", node {} slow ({} {:.2f})", i, kStragglerNames.of(s.kind), s.factor);
  }
  if (c.timing_only) text += ", timing only";
  if (c.buggify) text += ", buggify";
  return text;
}

}  // namespace shoal
