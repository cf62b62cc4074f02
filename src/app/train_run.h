// A training run, from its flags to the last line that it prints. Who calls it has libtorch in a
// way of its own, and brings data and learner: `shoal train` from a plugin, a user's program
// linked. This process is its only worker, one of several, or their launcher: workers.h.
//
//   TrainRun run(flags, config, "shoal train");    // checked; the folder has a name
//   run.use(open_data(run.flags));
//   run.choice = ..., run.learner = ...
//   return run.train();
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/compute_choice.h"
#include "app/exit_code.h"
#include "app/train_flags.h"
#include "app/workers.h"
#include "data/dataset.h"
#include "learner/learner.h"
#include "learner/torch_loader/torch_abi.h"
#include "train/trainer.h"

namespace shoal {

// Completes the flags by the files that they name: flags win over --config, which wins over what
// the resumed run had. Gives the options as they are then, for the run's own config.toml.
std::vector<ConfigEntry> gather_flags(TrainFlags& flags, const std::vector<Option>& options,
                                      const std::vector<std::string>& given);

Dataset open_data(const TrainFlags& flags);

// runs/lenet-fashion-mnist, or with a number behind it when that is there already.
std::filesystem::path new_run_folder(const TrainFlags& flags, const std::string& prefix);
// Throws ConfigError when a run is in flags.out already, and is not to be resumed.
void require_fresh(const TrainFlags& flags);

// Thread safety: none.
struct TrainRun {
  // `program`: what is typed to start it. Throws ConfigError.
  TrainRun(TrainFlags flags, std::vector<ConfigEntry> config, std::string program);

  void use(Dataset data);                       // and makes the plan
  int processes_here() const;                   // of the job, on this host
  int cores() const;                            // that one worker may use
  void before_threads();                        // are started, by libtorch say
  void note_memory();                           // that the process has before the model is built
  TorchCompute compute() const;                 // by flags and choice
  TorchLearnerOptions learner_options() const;  // as well
  // REQUIRES: data and learner are there. Throws whatever the training failed with. The result is
  // there for a worker; the launcher calls take_result.
  ExitCode train();
  // Another program in its place, as this process's part of the job; `computes`: on a thread of its
  // own, also if nobody waits for this process. REQUIRES: it is no launcher.
  ExitCode carry_out(const NodeProgram& program, bool computes);

  TrainFlags flags;
  std::vector<ConfigEntry> config;
  std::string program;
  Place place;
  std::optional<LauncherHandoff> handed;  // by our own launcher
  ProcessTopology topology;
  std::string hints;          // lines for the end, of what else the program can do
  bool take_signals = false;  // SIGINT and SIGTERM end the run with a checkpoint
  Dataset dataset;
  TrainPlan plan;
  ComputeChoice choice;
  std::string torch_version;
  std::unique_ptr<Learner> learner;
  TrainResult result;
};

// ---- Of this process; also for workers.cc

Screen screen_of_stdout();
double wall_clock_s();
const std::atomic<bool>* stop_flag();  // set by the first SIGINT or SIGTERM
RunJournalOptions journal_options(const TrainRun& run);

}  // namespace shoal
