// The swarm's workload of the synchronous strategy: quadratic problems, 2 to 9 workers, every kind
// of fault, checkpoints on and off; judged against sequential SGD.
#pragma once

#include "sim/swarm.h"

namespace shoal {

Scenario sync_scenario(Seed seed);

}  // namespace shoal
