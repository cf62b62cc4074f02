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
  Cluster cluster;            // a node for each worker of the plan
  FaultPlan faults;           // none: all are in one view from the start to the end
  RunJournalOptions journal;  // of worker 0; the others show nothing
};

struct SimulationResult {
  Outcome outcome;
  std::size_t ended = 0;  // workers that got to the end
  std::string violation;  // of an invariant, the first; empty: all hold
  // Of the one that made the most steps in one life; its summary has means over all that ended.
  TrainResult train;
};

// `learner` serves all workers. A plan with an audit is watched by every checker. What the run
// leaves behind is handed to `keep`: the files of worker 0, those of the others in folders of their
// own, and the summary of all.
SimulationResult simulate(const TrainPlan& plan, Learner& learner, const Simulation& simulation,
                          const SimDisk::Visit& keep);

}  // namespace shoal
