#include "app/predict.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "codec/encoding.h"
#include "data/dataset.h"
#include "train/simulation.h"

namespace shoal {
namespace {

// So many that buckets are tuned and each worker has met the others a few times; fewer of many
// workers, whose messages are the more.
Step steps_for(const TrainPlan& plan) {
  const std::uint64_t periods = 4 * period_of(plan.recipe);
  return Step(std::max<std::uint64_t>(24, 800 / plan.workers) + periods);
}

}  // namespace

CalibrationKey key_of(const TrainRun& run) {
  CalibrationKey key;
  key.machine = this_machine();
  key.model = run.plan.model;
  key.shape = describe(run.dataset.train->shape());
  key.compute = describe(run.choice);
  key.optimizer = name_of(run.plan.rule);
  key.encoding = to_string(encode_of(run.plan.recipe).as);
  key.workers = run.plan.workers;
  key.hosts = run.topology.hosts;
  return key;
}

Prediction predict(const TrainPlan& plan, const Calibration& calibration, Bytes bucket_bytes) {
  if (batch_norm_of(plan.recipe).over == BatchNorm::Over::Workers)
    throw Error("--batch-norm sync: a simulated pass cannot wait for other workers in its middle");
  TrainPlan few = plan;
  few.world = "sim";
  few.epochs = 0;
  few.steps = std::min(plan.steps, steps_for(plan));
  few.save_every = few.steps;
  few.evaluate = few.audit = false;
  few.take_state = {};
  few.memory_peak = {};
  few.predicted.reset();
  const CalibratedModel model = model_of(calibration, plan.batch, bucket_bytes);
  const std::unique_ptr<Learner> phantom = phantom_of(model.pace, model.buckets);
  Simulation simulation;
  simulation.cluster = cluster_of(calibration, plan.workers, servers_of(plan.recipe), plan.hosts);
  simulation.cluster.timing_only = true;
  simulation.journal.quiet = true;
  simulation.journal.steps = few.steps;
  simulation.journal.nodes = simulation.cluster.nodes.size();
  const SimulationResult result =
      simulate(few, *phantom, simulation, [](const std::string&, std::span<const std::byte>) {});
  if (!result.outcome.errors.empty()) throw Error(result.outcome.errors.front().what);
  if (result.ended == 0) throw Error("the simulated workers do not finish");
  const Summary& s = result.train.summary;
  return {s.measured_step_s, s.measured_bytes_per_step};
}

std::string describe(const Prediction& p) {
  return fmt::format("{:.4g} ms a step, {:.4g} MB sent in each", 1e3 * p.step_s,
                     1e-6 * p.bytes_per_step);
}

}  // namespace shoal
