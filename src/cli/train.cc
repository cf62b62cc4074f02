// shoal train: trains a model on data, and leaves a run folder behind.
#include "cli/commands.h"
#include "cli/kept_calibration.h"
#include "cli/torch_run.h"

namespace shoal {
namespace {

constexpr const char* kHints =
    "  shoal train --model resnet:20 --optimizer adamw      another model, another optimizer\n"
    "  shoal train --workers 2                              two processes; either may be killed\n"
    "  shoal train --model my.pt --data csv:my.csv          your own (TorchScript, CSV)\n";

ExitCode run_train(const TrainFlags& flags, std::vector<ConfigEntry> config) {
  TrainRun run(flags, std::move(config), "shoal train");
  run.hints = kHints;
  run.take_signals = true;
  run.use(open_data(run.flags));
  choose_compute(run);
  // Done once for all workers, before any of them could be disturbed.
  const bool first = !run.handed && run.place.rank == 0 && run.place.life == 1;
  if (first && !run.flags.no_predict) run.plan.predicted = prediction_for(run);
  run.before_threads();
  const std::optional<TorchPlugin> torch = make_learner(run, run.learner_options());
  return run.train();
}

}  // namespace

Command train_command() {
  auto flags = std::make_shared<TrainFlags>();
  auto given = std::make_shared<std::vector<std::string>>();
  const std::vector<Option> options = train_options(*flags);
  return {.name = "train",
          .summary = "train a model; without options, LeNet on Fashion-MNIST",
          .options = options,
          .run = [flags, given,
                  options] { return run_train(*flags, gather_flags(*flags, options, *given)); },
          .given = given.get()};
}

}  // namespace shoal
