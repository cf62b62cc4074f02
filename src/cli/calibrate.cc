// shoal calibrate: measures the steps of a model on this machine and its links, for the simulator
// and for the predictions of `shoal train`.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "app/calibrate_node.h"
#include "app/predict.h"
#include "app/scratch_folder.h"
#include "base/error.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "cli/kept_calibration.h"
#include "cli/torch_run.h"
#include "launch/host.h"
#include "recipe/registry.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

struct CalibrateFlags {
  TrainFlags flags;
  std::string batches = "64";
  std::string encode = "fp32";
  std::string out = "calibration.json";
  double seconds = 0.5;
  bool keep = false;
};

std::vector<std::uint64_t> batches_in(const std::string& text) {
  auto batches = require_numbers<std::uint64_t>("--batch", text,
                                                "whole numbers from 1 on, as 16,64", {.least = 1});
  std::ranges::sort(batches);
  if (std::ranges::adjacent_find(batches) != batches.end())
    throw ConfigError(fmt::format("--batch {}: a batch size is repeated; give each once", text));
  return batches;
}

void print_found(const Calibration& c) {
  for (const GradientTimes& g : c.gradients)
    fmt::print(
        "gradient  batch {}: {:.4g} ms, {:.4g} ms alone; the first of {} tensors after {:.4g} ms\n",
        g.batch, 1e3 * g.ready.back(), 1e3 * g.alone, g.ready.size(), 1e3 * g.ready.front());
  fmt::print("together  {:.2f} times slower than one alone; {:.3g} cores per host\n", c.slowdown(),
             c.cores);
  fmt::print("work      {} ns per element\n", to_text(c.elements));
  const auto link = [](const char* name, const std::optional<LinkModel>& l) {
    if (l)
      fmt::print("{:<9} {:.3g} Gbit/s, {:.3g} us; {:.3g} ns of a core per byte\n", name,
                 8e-9 * l->bytes_per_s, 1e6 * seconds(l->latency), l->cpu_ns_per_byte);
  };
  link("inside", c.inside);
  link("between", c.between);
}

ExitCode run_calibrate(CalibrateFlags o) {
  if (!(o.seconds > 0 && o.seconds <= 60))
    throw ConfigError(fmt::format("--seconds {}: take 0.1 to 60", o.seconds));
  const std::vector<std::uint64_t> batches = batches_in(o.batches);
  o.flags.batch = batches.back();
  Encoding encoding = parse_encoding(o.encode);
  const ScratchFolder scratch("calibrate");
  o.flags.out = scratch.path();
  TrainRun run(o.flags, {}, "shoal calibrate");
  run.use(open_data(run.flags));
  encode_of(run.plan.recipe).as = encoding;
  choose_compute(run);
  Calibration found;
  found.key = key_of(run);
  const fs::path out = o.keep ? calibration_file(found.key) : fs::path(o.out);
  if (out.empty()) throw ConfigError("--keep: there is no cache folder; take --out FILE");
  run.plan.folder.wall_start_s = run.handed ? run.handed->begun_s : wall_clock_s();
  if (run.topology.role == ProcessRole::Launcher) {
    run.before_threads();
    const ExitCode code = launch_workers(run);
    if (code == ExitCode::kOk) fmt::print("wrote {}\n", out.string());
    return code;
  }
  TorchLearnerOptions options = run.learner_options();
  options.bucket_bytes = kEachTensor;
  const std::optional<TorchPlugin> torch = make_learner(run, options);
  if (const std::string_view other = traits(encoding).measured_as; !other.empty())
    encoding = parse_encoding(other);
  CalibrateOptions how;
  how.batches = batches;
  how.samples = run.dataset.train->size();
  how.workers = run.plan.workers;
  how.rule = run.plan.rule;
  how.encoding = encoding;
  how.seconds = o.seconds;
  how.kernel = this_kernel();
  how.cores = found.key.machine.cores;
  const ExitCode code = run.carry_out(
      [&](Node& node) { return calibrate_node(node, *run.learner, how, found); }, true);
  if (code != ExitCode::kOk || run.place.rank != 0) return code;
  write_calibration(found, out);
  if (!run.flags.quiet) print_found(found);
  if (run.topology.role == ProcessRole::Alone || !run.handed)
    fmt::print("wrote {}\n", out.string());
  return code;
}

}  // namespace

Command calibrate_command() {
  auto o = std::make_shared<CalibrateFlags>();
  TrainFlags& f = o->flags;
  return {
      .name = "calibrate",
      .summary = "measure this machine and its links for a model, for the simulator",
      .options = {{"--model", "as for train", &f.model},
                  {"--data", "as for train", &f.data},
                  {"--workers", "number of workers, each a process, all at once", &f.workers},
                  {"--hosts", "a,b:2: start the workers there by ssh", &f.hosts},
                  {"--listen", "ADDRESS[:PORT] where the workers meet", &f.listen},
                  {"--batch", "samples per step and worker; a list: 16,64", &o->batches},
                  {"--optimizer", "the optimizer whose updates are measured; auto: by the model",
                   &f.optimizer},
                  {"--encode", "the encoding that is measured", &o->encode},
                  {"--threads", "as for train", &f.threads},
                  {"--blas", "as for train", &f.blas},
                  {"--memory-format", "as for train", &f.memory_format},
                  {"--no-tune", "do not probe; take libtorch as it is", &f.no_tune},
                  {"--reproducible", "as for train", &f.reproducible},
                  {"--augment", "as for train", &f.augment},
                  {"--length", "as for train", &f.length},
                  {"--seconds", "time for the gradients of each batch size", &o->seconds},
                  {"--out", "the file", &o->out},
                  {"--keep", "store it where `shoal train` looks for it, instead of --out",
                   &o->keep},
                  {"--quiet", "print nothing", &f.quiet}},
      .run = [o] { return run_calibrate(*o); }};
}

}  // namespace shoal
