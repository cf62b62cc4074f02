// The workers of a training run as processes. Whoever the user started becomes their launcher; they
// are the same program with the same arguments, and know from their environment which of the job's
// processes they are (launch/place.h) and what the launcher has found out for all:
//
//   shoal train --workers 4            checks, probes, names the folder; starts and watches:
//     shoal train --workers 4          SHOAL_NODE=0 .. SHOAL_RUN_FOLDER=runs/lenet ..
//     shoal train --workers 4          SHOAL_NODE=1 ..
//
// Under another launcher (shoal launch, mpirun, torchrun) every process is a worker from the start.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/compute_choice.h"
#include "app/exit_code.h"
#include "app/train_flags.h"
#include "launch/place.h"
#include "launch/ranks.h"
#include "runtime/node.h"
#include "train/progress.h"

namespace shoal {

struct TrainRun;

enum class ProcessRole : std::uint8_t {
  Alone,     // the one worker of the run
  Launcher,  // of the workers
  Worker,    // one of several
};

struct ProcessTopology {
  ProcessRole role = ProcessRole::Alone;
  RankCount workers;
  std::uint32_t servers = 0;  // separate processes, after the workers
  std::uint64_t hosts = 1;    // as far as the launcher says
  std::uint64_t processes() const { return workers.most + servers; }
};
// Which part this process has, by its flags and its place; `launched`: by our own launcher. Throws
// ConfigError where they contradict each other.
ProcessTopology topology_of(const TrainFlags& flags, const Place& place, bool launched);

// Results that the launcher hands on to its workers.
struct LauncherHandoff {
  std::string folder;  // of the run
  ComputeChoice compute;
  std::optional<Prediction> predicted;
  double begun_s = 0;      // the wall-clock time at which the run began
  Screen screen;           // of the launcher
  std::string error_file;  // who fails first writes there why; empty: to stderr
};
std::vector<std::string> to_settings(const LauncherHandoff& handed);  // NAME=value
std::optional<LauncherHandoff> handed_on(const Lookup& lookup);  // nothing under another launcher

// Starts the workers and watches them to the end. Throws what the first that failed did.
ExitCode launch_workers(const TrainRun& run);
// Takes part in the job as one of its workers, with this program.
ExitCode work_in_job(TrainRun& run, const NodeProgram& program);

// Makes the result of the run from the files that the workers have written.
// REQUIRES: the run has its learner.
void take_result(TrainRun& run);

}  // namespace shoal
