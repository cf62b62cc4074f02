// Shared by the swarm's workloads: drawn clusters, and the flags of a drawn recipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/random.h"
#include "optim/rule.h"
#include "recipe/recipe.h"
#include "sim/cluster.h"

namespace shoal {

// Slow and fast links, hosts that nodes share, stragglers; everything legal that a network may do.
Cluster draw_cluster(Random& random, std::size_t nodes);

// As `shoal simulate` takes it: "--workers 3 --batch 7 --optimizer sgd --update root".
std::string recipe_flags(const Recipe& recipe, std::size_t workers, std::uint64_t batch,
                         RuleKind rule);

}  // namespace shoal
