#include "cli/torch_run.h"

#include <cstdlib>

#include "cli/tune.h"
#include "learner/logistic.h"

namespace shoal {

namespace fs = std::filesystem;

fs::path cache_folder() {
  if (const char* const xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != 0)
    return fs::path(xdg) / "shoal";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home != 0)
    return fs::path(home) / ".cache" / "shoal";
  return {};
}

void choose_compute(TrainRun& run) {
  if (run.flags.model == kLogisticModel) return;
  if (run.handed) {
    run.choice = run.handed->compute;
  } else {
    ComputeWish wish = wish_of(run.flags);
    // A worker that returns finds the others at work, and the result of the first probe.
    wish.only_kept = run.topology.role == ProcessRole::Worker && run.place.life > 1;
    ProbeTask task;
    task.model = run.flags.model;
    task.shape = run.dataset.train->shape();
    task.batch = run.flags.batch;
    const fs::path cache = cache_folder();
    run.choice = choose_compute(wish, task, run.cores(), fs::read_symlink("/proc/self/exe"),
                                cache.empty() ? cache : cache / "compute");
  }
  // OpenBLAS reads it only while it is loaded.
  if (!run.choice.blas.empty()) setenv("OPENBLAS_CORETYPE", run.choice.blas.c_str(), 1);
}

std::optional<TorchPlugin> make_learner(TrainRun& run, const TorchLearnerOptions& options) {
  if (run.flags.model == kLogisticModel) {
    run.note_memory();
    run.learner = std::make_unique<LogisticLearner>(run.dataset.train, run.dataset.test);
    return std::nullopt;
  }
  std::optional<TorchPlugin> torch =
      TorchPlugin::load(plugin_directories(fs::read_symlink("/proc/self/exe")));
  torch->set_compute(run.compute());
  run.torch_version = torch->describe().version;
  TorchTask task;
  task.model = run.flags.model;
  task.train = run.dataset.train;
  task.test = run.dataset.test;
  task.normalization = normalization_of(run.flags);
  task.options = options;
  run.note_memory();
  run.learner = torch->make_learner(task);
  return torch;
}

}  // namespace shoal
