// A training run in the simulator: the workers of a plan run the program that they run live, in a
// simulated cluster, with faults.
#pragma once

#include "learner/learner.h"
#include "sim/cluster.h"
#include "sim/faults.h"
#include "sim/sim_files.h"
#include "sim/world.h"
#include "train/trainer.h"

namespace shoal {

struct Simulation {
  Cluster cluster;              // a node for each worker of the plan, then the servers
  FaultPlan faults;             // none: all are in one view from the start to the end
  std::size_t workers_min = 1;  // with fewer the others wait
  RunJournalOptions journal;    // of whoever speaks for all
};

struct SimulationResult {
  Outcome outcome;
  std::size_t ended = 0;  // workers that got to the end
  std::string violation;  // of an invariant, the first; empty: all hold
  // Of whoever spoke for all at the end; its summary has means over all that ended.
  TrainResult train;
};

// `learner` serves all workers. A plan with an audit is watched by every checker. What the run
// leaves behind is handed to `keep`, a file more than once when it changes at the end.
SimulationResult simulate(const TrainPlan& plan, Learner& learner, const Simulation& simulation,
                          const SimDisk::Visit& keep);

}  // namespace shoal
