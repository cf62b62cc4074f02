#include "app/cluster_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace shoal {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr const char* kTwoRacks = R"(
stragglers = "jitter:0.1"
[hosts.fast]
count = 2
workers = 2
speed = 2
network = "25gbit:10us"
rack = "a"
[hosts.slow]
count = 3
network = "1gbit:50us"
servers = 1
rack = "b"
[racks.a]
uplink = "100gbit:5us"
[racks.b]
uplink = "10gbit:20us"
)";

std::string error_of(const std::string& text, std::optional<std::uint64_t> workers = {},
                     std::uint64_t servers = 0) {
  try {
    parse_cluster(text, "c.toml", workers, servers);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ClusterPlan, IsWhatItsFileSays) {
  const ClusterPlan plan = parse_cluster(kTwoRacks, "c.toml", std::nullopt, 2);
  EXPECT_EQ(plan.workers, 7U);
  EXPECT_EQ(plan.stragglers, "jitter:0.1");
  const Cluster& c = plan.cluster;
  ASSERT_EQ(c.hosts.size(), 5U);
  EXPECT_EQ(c.hosts[0].speed, 2);
  EXPECT_EQ(c.hosts[0].cores, 2U);
  EXPECT_EQ(c.hosts[4].nic.latency, Duration(50us));
  EXPECT_DOUBLE_EQ(c.hosts[4].nic.bytes_per_s, 125e6);
  EXPECT_EQ(c.hosts[4].rack, std::optional<std::size_t>(1));
  ASSERT_EQ(c.nodes.size(), 9U);
  EXPECT_EQ(c.nodes[3].host, HostId(1));
  EXPECT_EQ(c.nodes[4].host, HostId(2));
  EXPECT_EQ(c.nodes[7].host, HostId(2));
  EXPECT_EQ(c.nodes[7].role, Role::Server);
  EXPECT_EQ(parse_cluster(kTwoRacks, "c.toml", 3, 0).cluster.nodes.size(), 3U);
}

TEST(ClusterPlan, NonsenseIsRefusedWithItsKey) {
  EXPECT_THAT(error_of(""), HasSubstr("no host has a worker"));
  EXPECT_THAT(error_of("[hosts.a]\ncount = 2\n"), HasSubstr("hosts.a.network is missing"));
  EXPECT_THAT(error_of("[hosts.a]\nnetwork = \"fast\"\n"), HasSubstr("hosts.a.network fast"));
  EXPECT_THAT(error_of("[hosts.a]\nnetwork = 10\n"), HasSubstr("take a text in quotes"));
  EXPECT_THAT(error_of("[hosts.a]\nnetwork = \"1gbit:1us\"\ncount = 0\n"),
              HasSubstr("c.toml:3: hosts.a.count = 0"));
  EXPECT_THAT(error_of("[hosts.a]\nnetwork = \"1gbit:1us\"\nspeed = -1\n"),
              HasSubstr("speed = -1"));
  EXPECT_THAT(error_of("[hosts.a]\nnetwork = \"1gbit:1us\"\nrack = \"b\"\n"),
              HasSubstr("there is no [racks.b]"));
  EXPECT_THAT(error_of("[hosts.a]\nnetwrok = \"1gbit:1us\"\n"), HasSubstr("'network'"));
  EXPECT_THAT(error_of("[host.a]\nnetwork = \"1gbit:1us\"\n"), HasSubstr("'hosts'"));
  EXPECT_THAT(error_of("[hosts]\nnetwork = \"1gbit:1us\"\n"), HasSubstr("take [hosts.NAME]"));
  EXPECT_THAT(error_of("[hosts.a]\nnetwork = \"1gbit:1us\"\ncount = 99999\nworkers = 9\n"),
              HasSubstr("more than 100000 nodes"));
  EXPECT_THAT(error_of(kTwoRacks, 8), HasSubstr("--workers 8: c.toml has room for 7"));
  EXPECT_THAT(error_of(kTwoRacks, 7, 4), HasSubstr("--servers 4: c.toml has room for 3"));
}

TEST(ClusterPlan, PresetsFitAnyNumber) {
  for (const std::string& name : cluster_presets())
    for (const std::uint64_t workers : {1, 7, 64}) {
      const ClusterPlan plan = preset_cluster(name, workers, 2, 2);
      ASSERT_EQ(plan.cluster.nodes.size(), workers + 2) << name;
      EXPECT_EQ(plan.cluster.hosts.size(), (workers + 3) / 2) << name;
      for (const HostModel& host : plan.cluster.hosts)
        if (host.rack) {
          EXPECT_LT(*host.rack, plan.cluster.racks.size()) << name;
        }
    }
  const Cluster sites = preset_cluster("two-sites", 8, 0, 1).cluster;
  EXPECT_EQ(sites.racks.size(), 2U);
  EXPECT_EQ(sites.hosts[3].rack, std::optional<std::size_t>(0));
  EXPECT_EQ(sites.hosts[4].rack, std::optional<std::size_t>(1));
}

}  // namespace
}  // namespace shoal
