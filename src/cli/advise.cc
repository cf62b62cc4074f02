// shoal advise: simulates a run of each kind of system on a cluster, and ranks the systems, with
// reasons.
#include <fmt/core.h>

#include <filesystem>

#include "app/calibration.h"
#include "app/scratch_folder.h"
#include "base/error.h"
#include "cli/advise_rank.h"
#include "cli/commands.h"
#include "cli/compare_plan.h"
#include "cli/own_run.h"
#include "cli/run_report.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

struct AdviseFlags {
  std::string like = "shoal,pytorch,horovod,downpour,ssp,easgd,diloco,d-psgd,gosgd";
  std::string calibration;  // empty: a phantom instead
  std::string phantom = "resnet-50";
  double tflops = 10;
  std::string cluster = "10gbit";
  std::string workers = "8";
  std::uint64_t batch = 32;
  std::uint64_t steps = 400;  // some systems exchange models only every hundred steps
  Wishes wishes;
};

ExitCode run_advise(const AdviseFlags& o) {
  if (o.steps == 0) throw ConfigError("--steps 0: at least one step is needed, 400 for example");
  const ScratchFolder scratch("advise");
  const std::string model =
      o.calibration.empty() ? o.phantom : read_calibration(o.calibration).key.model;
  std::vector<Advice> candidates;
  std::string refused;
  for (const std::string& system : parse_systems(o.like)) {
    const fs::path folder = scratch / system;
    std::vector<std::string> words = {"simulate", "--timing-only"};
    if (o.calibration.empty()) {
      words.insert(words.end(), {"--phantom", o.phantom, "--tflops", fmt::format("{}", o.tflops)});
    } else {
      words.insert(words.end(), {"--calibration", o.calibration});
    }
    const std::vector<std::string> rest = {"--cluster", o.cluster,
                                           "--workers", o.workers,
                                           "--batch",   std::to_string(o.batch),
                                           "--steps",   std::to_string(o.steps),
                                           "--samples", "1000000",
                                           "--like",    system,
                                           "--out",     folder.string(),
                                           "--quiet"};
    words.insert(words.end(), rest.begin(), rest.end());
    const OwnRun made = run_own(words, folder.string() + ".log");
    if (!made.ok) {
      refused += fmt::format("{}: {}\n", system, made.why);
      continue;
    }
    const Summary s = read_run(folder).summary;
    Advice c;
    c.system = system;
    c.samples_per_s = s.samples_per_s;
    const double samples = s.samples_per_s * s.wall_s;
    c.bytes_per_sample = s.bytes_sent_per_worker * static_cast<double>(s.workers) / samples;
    c.waiting = s.wait_s / s.wall_s;
    candidates.push_back(c);
  }
  if (candidates.empty())
    throw ConfigError(fmt::format("no system could be simulated:\n{}", refused));
  fmt::print("{} on {} workers, cluster {}: simulated results and their reasons\n\n", model,
             o.workers, o.cluster);
  std::size_t place = 0;
  for (const Advice& c : rank(std::move(candidates), o.wishes)) {
    fmt::print("{:>2}. {:<12} {:>4.0f}  {}\n", ++place, c.system, 100 * c.worth, c.reasons[0]);
    for (std::size_t i = 1; i < c.reasons.size(); ++i) fmt::print("{:>22}{}\n", "", c.reasons[i]);
  }
  if (!refused.empty()) fmt::print("\nnot simulated:\n{}", refused);
  fmt::print(
      "\nThe number is the rate relative to the best, less a penalty for the kind of system in "
      "learning\n(a judgement, after Langer et al. 2020). To measure the systems on your task: "
      "shoal "
      "compare.\n");
  return ExitCode::kOk;
}

}  // namespace

Command advise_command() {
  auto o = std::make_shared<AdviseFlags>();
  return {
      .name = "advise",
      .summary = "rank systems for a cluster by simulation, with reasons",
      .options = {{"--cluster", "a preset or a file, as for `shoal simulate`", &o->cluster},
                  {"--workers", "how many", &o->workers},
                  {"--phantom", "the model: resnet-50, vgg-a, gpt2-small, ...", &o->phantom},
                  {"--tflops", "speed of a worker", &o->tflops},
                  {"--calibration", "a file from `shoal calibrate`: its model and times instead",
                   &o->calibration},
                  {"--batch", "samples per step and worker", &o->batch},
                  {"--steps", "to simulate", &o->steps},
                  {"--like", "the systems to choose from, a,b,c", &o->like},
                  {"--reproducible", "penalize systems whose runs cannot be repeated",
                   &o->wishes.reproducible},
                  {"--unbalanced-data", "workers have different distributions of data",
                   &o->wishes.unbalanced},
                  {"--unstable", "other jobs disturb the cluster", &o->wishes.unstable},
                  {"--simple", "penalize systems with many settings to tune", &o->wishes.simple}},
      .run = [o] { return run_advise(*o); }};
}

}  // namespace shoal
