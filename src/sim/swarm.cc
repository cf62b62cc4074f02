#include "sim/swarm.h"

#include <fmt/format.h>

#include "sim/checkers/checker.h"

namespace shoal {

std::string describe(const Scenario& s) {
  std::string text = fmt::format("recipe:  {}\ncluster: {}\n", s.recipe, describe(s.cluster));
  for (const Fault& fault : s.faults.faults) text += fmt::format("fault:   {}\n", describe(fault));
  return text + fmt::format("healed at {:.3f} s, done within {:.0f} s after\n",
                            seconds(s.faults.heal_at), seconds(s.liveness));
}

SeedReport run_seed(const Workload& workload, Seed seed) {
  Scenario scenario = workload(seed);
  Recorder recorder(256);
  const auto checkers = all_checkers();
  for (const auto& checker : checkers) recorder.observe(*checker);
  const CrashHook hook(
      [&] { fmt::print(stderr, "in seed {}\n{}{}", seed, describe(scenario), recorder.dump(20)); });

  SeedReport report;
  report.seed = seed;
  {
    World world(scenario.cluster,
                {.seed = seed,
                 .recorder = &recorder,
                 .faults = scenario.faults,
                 .coordinator = {},
                 .time_limit = scenario.faults.heal_at.time_since_epoch() + scenario.liveness});
    report.outcome = world.run(scenario.program);
  }
  const Outcome& outcome = report.outcome;
  for (const auto& checker : checkers) {
    report.seen[std::string(checker->name())] = checker->seen();
    if (checker->violations().empty() || report.verdict != SeedVerdict::Fine) continue;
    report.verdict = SeedVerdict::Correctness;
    report.problem = checker->violations().front();
  }
  const auto wrong = [&](SeedVerdict verdict, std::string problem) {
    if (report.verdict != SeedVerdict::Fine) return;
    report.verdict = verdict;
    report.problem = std::move(problem);
  };
  if (!outcome.errors.empty()) {
    const NodeError& e = outcome.errors.front();
    wrong(SeedVerdict::Correctness, fmt::format("node {}.{}: {}", e.node, e.incarnation, e.what));
  }
  if (!outcome.finished)
    wrong(SeedVerdict::Liveness,
          fmt::format("not done at {:.3f} s\n{}", seconds(outcome.end), outcome.waiting_for));
  if (std::string problem = scenario.judge(); !problem.empty())
    wrong(SeedVerdict::Correctness, std::move(problem));
  if (report.verdict != SeedVerdict::Fine) report.recorder = describe(scenario) + recorder.dump(40);
  return report;
}

SeedReport run_seed_twice(const Workload& workload, Seed seed) {
  SeedReport first = run_seed(workload, seed);
  if (first.verdict != SeedVerdict::Fine) return first;
  const SeedReport second = run_seed(workload, seed);
  if (second.outcome.hash != first.outcome.hash) {
    first.verdict = SeedVerdict::Determinism;
    first.problem = fmt::format("two runs of one seed differ: {:#018x} and {:#018x}",
                                first.outcome.hash, second.outcome.hash);
  }
  return first;
}

SwarmReport run_swarm(const Workload& workload, Seed first, std::uint64_t count,
                      std::uint64_t failures_max,
                      const std::function<void(const SeedReport&)>& progress) {
  SwarmReport swarm;
  Hash hash;
  for (std::uint64_t i = 0; i < count; ++i) {
    SeedReport report = run_seed_twice(workload, Seed(first.value() + i));
    ++swarm.seeds;
    hash.add(report.outcome.hash);
    swarm.messages += report.outcome.messages;
    for (std::size_t k = 0; k < kFaultKinds; ++k)
      swarm.faults[std::string(to_string(static_cast<FaultKind>(k)))] += report.outcome.fired[k];
    for (const auto& [probe, hits] : report.outcome.probes) swarm.probes[probe] += hits;
    for (const auto& [checker, events] : report.seen) swarm.seen[checker] += events;
    progress(report);
    if (report.verdict == SeedVerdict::Fine) continue;
    swarm.failures.push_back(std::move(report));
    if (swarm.failures.size() >= failures_max) break;
  }
  swarm.hash = hash.value();
  return swarm;
}

}  // namespace shoal
