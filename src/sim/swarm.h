// The swarm: thousands of simulated runs, each with a cluster, a recipe and faults drawn from one
// seed, each run twice, each watched by every checker.
//
// Two phases: faults while the checkers watch (safety); then everything is healed, and all nodes
// must be done within a limit of virtual time (liveness).
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

// What one seed means. Workloads are made by the layers that know strategies.
struct Scenario {
  std::string recipe;  // in words
  std::string flags;   // of the recipe and its workers, as `shoal simulate` takes them
  Cluster cluster;
  FaultPlan faults;
  Duration liveness{};  // virtual time after healing in which all must be done
  NodeProgram program;
  // After the run: the empty string, or what is wrong with the result.
  std::function<std::string()> judge;
};

using Workload = std::function<Scenario(Seed)>;

enum class SeedVerdict : std::uint8_t { Fine, Liveness, Correctness, Determinism };

struct SeedReport {
  Seed seed;
  SeedVerdict verdict = SeedVerdict::Fine;
  std::string problem;   // empty when fine
  std::string recorder;  // the last events, when not
  Outcome outcome;
  std::map<std::string, std::uint64_t> seen;  // by checker
};

std::string describe(const Scenario& scenario);
SeedReport run_seed(const Workload& workload, Seed seed);
// Twice, with equal hashes.
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
