// shoal train: trains a model on data, and leaves a run folder behind.
#include <cstdlib>
#include <filesystem>

#include "cli/commands.h"
#include "cli/tune.h"
#include "learner/logistic.h"
#include "learner/torch_loader/torch_plugin.h"
#include "program/train_run.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHints =
    "  shoal train --model resnet:20 --optimizer adamw      another model, another optimizer\n"
    "  shoal train --workers 2                              two processes; kill one and see\n"
    "  shoal train --model my.pt --data csv:my.csv          your own (TorchScript, CSV)\n";

fs::path cache_file() {
  if (const char* const xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != 0)
    return fs::path(xdg) / "shoal" / "compute";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home != 0)
    return fs::path(home) / ".cache" / "shoal" / "compute";
  return {};
}

ComputeChoice prepare_compute(const TrainRun& run, const fs::path& executable) {
  ComputeChoice choice;
  if (run.handed) {
    choice = run.handed->compute;
  } else {
    ComputeWish wish = wish_of(run.flags);
    wish.only_kept = run.company.part == Part::Worker;  // The others are at work, or probe too.
    ProbeTask task;
    task.model = run.flags.model;
    task.shape = run.dataset.train->shape();
    task.batch = run.flags.batch;
    choice = choose_compute(wish, task, run.cores(), executable, cache_file());
  }
  // Before libtorch is loaded: OpenBLAS reads it then, and never again.
  if (!choice.blas.empty()) setenv("OPENBLAS_CORETYPE", choice.blas.c_str(), 1);
  return choice;
}

ExitCode run_train(const TrainFlags& flags, std::vector<ConfigEntry> config) {
  TrainRun run(flags, std::move(config), "shoal train");
  run.hints = kHints;
  run.take_signals = true;
  run.use(open_data(run.flags));

  if (run.flags.model == kLogisticModel) {
    run.before_threads();
    run.note_memory();
    run.learner = std::make_unique<LogisticLearner>(run.dataset.train, run.dataset.test);
    return run.train();
  }
  const fs::path executable = fs::read_symlink("/proc/self/exe");
  run.choice = prepare_compute(run, executable);
  run.before_threads();
  const TorchPlugin torch = TorchPlugin::load(plugin_directories(executable));
  torch.set_compute(run.compute());
  run.torch_version = torch.describe().version;
  TorchTask task;
  task.model = run.flags.model;
  task.train = run.dataset.train;
  task.test = run.dataset.test;
  task.normalization = normalization_of(run.flags);
  task.options = run.learner_options();
  run.note_memory();
  run.learner = torch.make_learner(task);
  return run.train();
}

}  // namespace

Command train_command() {
  auto flags = std::make_shared<TrainFlags>();
  auto given = std::make_shared<std::vector<std::string>>();
  const std::vector<Option> options = train_options(*flags);
  return {.name = "train",
          .summary = "train a model; without options: LeNet on Fashion-MNIST",
          .options = options,
          .run = [flags, given,
                  options] { return run_train(*flags, gather_flags(*flags, options, *given)); },
          .given = given.get()};
}

}  // namespace shoal
