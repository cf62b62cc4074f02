// The swarm: thousands of simulated runs, each with a cluster, a recipe and faults drawn from one
// seed, each run twice and watched by every checker.
//
// A run has two phases. First faults happen while the checkers watch (safety). Then everything is
// healed, and all nodes must finish within a limit of virtual time (liveness).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "runtime/node.h"
#include "sim/cluster.h"
#include "sim/faults.h"
#include "sim/world.h"

namespace shoal {

// The meaning of one seed. The layers that know strategies make workloads.
struct Scenario {
  std::string recipe;  // for people
  std::string flags;   // the recipe and its workers, as flags of `shoal simulate`
  Cluster cluster;
  FaultPlan faults;
  Duration liveness{};  // virtual time after healing in which all nodes must finish
  NodeProgram program;
  // After the run: an empty string, or the problem with the result.
  std::function<std::string()> judge;
};

using Workload = std::function<Scenario(Seed)>;

enum class SeedVerdict : std::uint8_t { Fine, Liveness, Correctness, Determinism };

struct SeedReport {
  Seed seed;
  SeedVerdict verdict = SeedVerdict::Fine;
  std::string problem;   // empty if fine
  std::string recorder;  // the last events, if not
  Outcome outcome;
  std::map<std::string, std::uint64_t> seen;  // by checker
};

std::string describe(const Scenario& scenario);
SeedReport run_seed(const Workload& workload, Seed seed);
// Runs the seed twice and compares the hashes.
SeedReport run_seed_twice(const Workload& workload, Seed seed);

struct SwarmReport {
  std::uint64_t seeds = 0;
  std::uint64_t hash = 0;  // of all runs
  std::uint64_t messages = 0;
  std::map<std::string, std::uint64_t> faults, probes, seen;
  std::vector<SeedReport> failures;
};

// Seeds first, first+1, ...; stops at `failures_max` failures. `progress` is called after each.
SwarmReport run_swarm(const Workload& workload, Seed first, std::uint64_t count,
                      std::uint64_t failures_max,
                      const std::function<void(const SeedReport&)>& progress);

}  // namespace shoal
