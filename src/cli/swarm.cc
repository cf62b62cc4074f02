// shoal swarm: simulated runs with faults drawn from seeds.
#include "sim/swarm.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "cli/commands.h"
#include "swarm/decentral_workload.h"
#include "swarm/served_workload.h"
#include "swarm/sync_workload.h"

namespace shoal {
namespace {

struct SwarmFlags {
  std::string workload = "sync";
  std::uint64_t seeds = 1000;
  std::uint64_t first = 0;
  std::int64_t seed = -1;
  std::uint64_t failures_max = 3;
  bool flags = false;
};

const std::map<std::string, Workload>& workloads() {
  static const std::map<std::string, Workload> kAll = {
      {"decentral", decentral_scenario}, {"served", served_scenario}, {"sync", sync_scenario}};
  return kAll;
}

ExitCode exit_code(SeedVerdict verdict) {
  switch (verdict) {
    case SeedVerdict::Fine: return ExitCode::kOk;
    case SeedVerdict::Liveness: return ExitCode::kLiveness;
    case SeedVerdict::Correctness: return ExitCode::kCorrectness;
    case SeedVerdict::Determinism: return ExitCode::kLostDeterminism;
  }
  return ExitCode::kCrash;
}

void print_counts(const char* title, const std::map<std::string, std::uint64_t>& counts) {
  fmt::print("{}\n", title);
  for (const auto& [what, count] : counts) fmt::print("  {:>10}  {}\n", count, what);
}

// Runs one seed and prints its scenario and outcome.
ExitCode replay(const Workload& workload, Seed seed) {
  fmt::print("seed {}\n{}", seed, describe(workload(seed)));
  const SeedReport report = run_seed_twice(workload, seed);
  fmt::print("{} messages, ended at {:.3f} virtual s, hash {:#018x}\n", report.outcome.messages,
             seconds(report.outcome.end), report.outcome.hash);
  print_counts("probes hit", report.outcome.probes);
  print_counts("events checked", report.seen);
  if (report.verdict != SeedVerdict::Fine) fmt::print("{}\n{}\n", report.recorder, report.problem);
  return exit_code(report.verdict);
}

ExitCode run_swarm(const SwarmFlags& o) {
  const auto workload = workloads().find(o.workload);
  if (o.seed >= 0) return replay(workload->second, Seed(static_cast<std::uint64_t>(o.seed)));
  if (o.flags) {
    for (std::uint64_t i = 0; i < o.seeds; ++i)
      fmt::print("{}\n", workload->second(Seed(o.first + i)).flags);
    return ExitCode::kOk;
  }
  // A failed check ends the process; by then the hook of run_seed has printed the seed.
  const SwarmReport swarm = run_swarm(
      workload->second, Seed(o.first), o.seeds, o.failures_max, [&](const SeedReport& report) {
        if (report.verdict == SeedVerdict::Fine) return;
        fmt::print("seed {}: {}\n  replay: shoal swarm --workload {} --seed {}\n", report.seed,
                   report.problem, o.workload, report.seed);
        std::fflush(stdout);
      });
  print_counts("faults fired", swarm.faults);
  print_counts("probes hit", swarm.probes);
  print_counts("events checked", swarm.seen);
  fmt::print("{} seeds from {}, each twice: {} messages, {} failures, hash {:#018x}\n", swarm.seeds,
             o.first, swarm.messages, swarm.failures.size(), swarm.hash);
  return swarm.failures.empty() ? ExitCode::kOk : exit_code(swarm.failures.front().verdict);
}

}  // namespace

Command swarm_command() {
  auto o = std::make_shared<SwarmFlags>();
  std::vector<std::string> names;
  for (const auto& [name, workload] : workloads()) names.push_back(name);
  return {
      .name = "swarm",
      .summary = "run simulations with clusters, recipes and faults drawn from seeds",
      .options = {{"--workload", "the kind of jobs", &o->workload, false, names},
                  {"--seeds", "number of seeds, each run twice", &o->seeds},
                  {"--first", "the first seed", &o->first},
                  {"--seed", "replay this seed and print all of it", &o->seed},
                  {"--failures-max", "stop after this many failures", &o->failures_max},
                  {"--flags", "only print the recipes, as shoal simulate takes them", &o->flags}},
      .run = [o] { return run_swarm(*o); }};
}

}  // namespace shoal
