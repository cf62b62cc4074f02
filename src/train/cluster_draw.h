// The clusters that the swarm's workloads run on.
#pragma once

#include <cstddef>

#include "base/random.h"
#include "sim/cluster.h"

namespace shoal {

// Slow and fast links, hosts that nodes share, stragglers; everything legal that a network may do.
Cluster draw_cluster(Random& random, std::size_t nodes);

}  // namespace shoal
