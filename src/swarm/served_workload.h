// The swarm's workload of jobs with servers: workers and servers, together or apart, in every
// consistency, with copies, under every kind of fault; judged by what became of each sample.
#pragma once

#include "sim/swarm.h"

namespace shoal {

Scenario served_scenario(Seed seed);

}  // namespace shoal
