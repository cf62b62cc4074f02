// A training run in the simulator, from its flags to the last line that it prints. As with TrainRun
// (train_run.h), who calls it brings data and learner; without either it can only tell times.
//
//   SimulateRun run(flags, how, config);
//   run.use(open_data(run.flags));
//   run.learner = ...
//   return run.simulate();
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/calibrate.h"
#include "app/calibration.h"
#include "app/kept_costs.h"
#include "app/train_run.h"
#include "sim/cluster.h"
#include "sim/faults.h"

namespace shoal {

inline constexpr const char* kUsualNetwork = "10gbit:20us";
inline constexpr const char* kUsualMemory = "80gbit:1us";

struct SimulateFlags {
  std::string cluster;  // a preset or a file; empty: by network, memory and hosts_of
  std::string network = kUsualNetwork;
  std::string memory = kUsualMemory;
  std::uint64_t hosts_of = 1;
  std::string stragglers = "none";
  std::string faults = "none";
  bool timing_only = false;
  std::uint64_t parameters = 0;  // 0: the model's
  std::string phantom;           // an architecture of full size; empty: the model
  double tflops = 10;            // of a worker, for the phantom
  std::uint64_t samples = 60000;
  std::string calibration;  // a file of `shoal calibrate`; empty: measured now
  std::string ns_per_sample = "auto";
  std::string ns_per_element = "auto";
};

// Those of `shoal train`, and these.
std::vector<Option> simulate_options(TrainFlags& flags, SimulateFlags& how);

// Thread safety: none.
struct SimulateRun {
  // Throws ConfigError.
  SimulateRun(TrainFlags flags, SimulateFlags how, std::vector<ConfigEntry> config,
              KeptCosts costs);

  // Whether a model and its data are needed at all: not for --parameters, --phantom, and the times
  // of one that was calibrated.
  bool needs_learner() const {
    return how.parameters == 0 && how.phantom.empty() && !(calibrated_ && how.timing_only);
  }
  void use(Dataset data);
  TorchCompute compute() const;
  TorchLearnerOptions learner_options() const;
  // REQUIRES: data and learner are there, if needed.
  ExitCode simulate();

  TrainFlags flags;
  SimulateFlags how;
  std::vector<ConfigEntry> config;
  Cluster cluster;
  FaultPlan faults;
  Dataset dataset;
  TrainPlan plan;
  std::unique_ptr<Learner> learner;
  KeptCosts costs;

 private:
  std::vector<Elements> buckets();
  void calibrate(const std::vector<Elements>& buckets);
  std::string key_of_gradient(const std::vector<Elements>& buckets) const;
  std::string key_of_elements() const;
  void print_head() const;

  std::uint64_t workers_ = 1, hosts_ = 1;  // and those that have workers
  std::optional<Calibration> calibrated_;
  Pace pace_;
  ElementCosts elements_;
  std::string measured_;  // in words: what was not given
};

}  // namespace shoal
