// Runs a training in the simulator: the workers of a plan run the same program as live, in a
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
  FaultPlan faults;             // none: all nodes are in one view from the start to the end
  std::size_t workers_min = 1;  // with fewer workers the others wait
  RunJournalOptions journal;    // of the speaker
};

struct SimulationResult {
  Outcome outcome;
  std::size_t ended = 0;  // workers that finished
  std::string violation;  // of the first broken invariant; empty: all hold
  // Of the speaker at the end; its summary has means over all that finished.
  TrainResult train;
};

// `learner` serves all workers. Every checker watches a plan with an audit. Files of the run are
// passed to `keep`, some more than once if they change at the end.
SimulationResult simulate(const TrainPlan& plan, Learner& learner, const Simulation& simulation,
                          const SimDisk::Visit& keep);

}  // namespace shoal
