// shoal simulate: runs the training of `train` on a given cluster, in virtual time.
#include <cstdlib>
#include <filesystem>

#include "app/simulate_run.h"
#include "cli/commands.h"
#include "cli/torch_run.h"
#include "learner/logistic.h"
#include "learner/torch_loader/torch_plugin.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

ExitCode run_simulate(const TrainFlags& flags, const SimulateFlags& how,
                      std::vector<ConfigEntry> config) {
  const fs::path cache = cache_folder();
  SimulateRun run(flags, how, std::move(config),
                  KeptCosts(cache.empty() ? cache : cache / "costs"));
  if (!run.needs_learner()) return run.simulate();
  run.use(open_data(run.flags));
  if (run.flags.model == kLogisticModel) {
    run.learner = std::make_unique<LogisticLearner>(run.dataset.train, run.dataset.test);
    return run.simulate();
  }
  // Set before libtorch is loaded: OpenBLAS reads it only then.
  const std::string blas = wish_of(run.flags).blas.value_or("");
  if (!blas.empty()) setenv("OPENBLAS_CORETYPE", blas.c_str(), 1);
  const TorchPlugin torch =
      TorchPlugin::load(plugin_directories(fs::read_symlink("/proc/self/exe")));
  torch.set_compute(run.compute());
  TorchTask task;
  task.model = run.flags.model;
  task.train = run.dataset.train;
  task.test = run.dataset.test;
  task.normalization = normalization_of(run.flags);
  task.options = run.learner_options();
  run.learner = torch.make_learner(task);
  return run.simulate();
}

}  // namespace

Command simulate_command() {
  auto flags = std::make_shared<TrainFlags>();
  auto how = std::make_shared<SimulateFlags>();
  auto given = std::make_shared<std::vector<std::string>>();
  const std::vector<Option> options = simulate_options(*flags, *how);
  return {.name = "simulate",
          .summary = "train in a simulated cluster: any number of workers, links, faults",
          .options = options,
          .run =
              [flags, how, given, options] {
                return run_simulate(*flags, *how, gather_flags(*flags, options, *given));
              },
          .given = given.get()};
}

}  // namespace shoal
