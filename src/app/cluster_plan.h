// The cluster of a simulated run by name, or from a file:
//
//   stragglers = "jitter:0.1"       # of all nodes; words.h has the words
//   faults = "crash:2@3s+1s"
//   [hosts.gpu]                     # hosts that are alike; workers are counted in the file's order
//   count = 8
//   workers = 4                     # on each; servers = 0
//   cores = 4                       # by default one for each of them
//   speed = 1.0                     # 2 works twice as fast
//   network = "25gbit:10us"
//   memory = "80gbit:1us"           # between the nodes of a host
//   rack = "a"                      # none: its own link is the only one
//   [racks.a]
//   uplink = "100gbit:5us"          # shared by the hosts of the rack, each way
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster.h"

namespace shoal {

struct ClusterPlan {
  Cluster cluster;  // the workers, then the servers
  std::string stragglers = "none", faults = "none";
  std::uint64_t workers = 0;
};

// 1gbit, 10gbit, 25gbit, 100gbit, infiniband-hdr, cloud, two-sites.
std::vector<std::string> cluster_presets();
// So many workers to a host. REQUIRES: there is such a preset.
ClusterPlan preset_cluster(std::string_view name, std::uint64_t workers, std::uint64_t servers,
                           std::uint64_t hosts_of);

// Without a number of workers: all that there is room for. Throws ConfigError with the key: one
// that is not known, a value that makes no sense, more nodes than there is room for.
ClusterPlan parse_cluster(std::string_view text, const std::string& file,
                          std::optional<std::uint64_t> workers, std::uint64_t servers);

}  // namespace shoal
