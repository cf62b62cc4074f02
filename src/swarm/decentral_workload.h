// The swarm's workload of jobs whose models meet: quadratic problems, 1 to 7 workers, every way to
// meet, under every kind of fault; judged by what became of each sample, and by the result.
#pragma once

#include "sim/swarm.h"

namespace shoal {

Scenario decentral_scenario(Seed seed);

}  // namespace shoal
