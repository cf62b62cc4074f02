#include "train/simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

struct SimulatedJob {
  const TrainPlan& plan;
  Learner& learner;
  const RunJournalOptions& journal;
  std::map<NodeId, TrainResult> results;  // of workers that finished
};

Task<void> worker(Node& node, SimulatedJob& job) {
  TrainResult result;
  co_await train_worker(node, job.learner, job.plan, job.journal, result);
  if (node.membership.now().find(node.id)->role != Role::Worker) co_return;
  job.results[node.id] = std::move(result);
}

// The result of the speaker at the end, with means over all workers.
TrainResult result_of(const SimulatedJob& job) {
  const auto speaks = [](const auto& entry) { return entry.second.totals.speaks; };
  const auto speaker = std::ranges::find_if(job.results, speaks);
  TrainResult result = (speaker == job.results.end() ? job.results.begin() : speaker)->second;
  Summary& s = result.summary;
  s.compute_s = s.overlap_s = s.wait_s = s.update_s = s.bytes_sent_per_worker = 0;
  const double part = 1 / static_cast<double>(job.results.size());
  for (const auto& [node, other] : job.results) {
    s.compute_s += part * other.summary.compute_s;
    s.overlap_s += part * other.summary.overlap_s;
    s.wait_s += part * other.summary.wait_s;
    s.update_s += part * other.summary.update_s;
    s.bytes_sent_per_worker += part * other.summary.bytes_sent_per_worker;
  }
  return result;
}

void keep_text(const SimDisk::Visit& keep, const std::string& path, const std::string& text) {
  keep(path, std::as_bytes(std::span<const char>(text)));
}

}  // namespace

SimulationResult simulate(const TrainPlan& plan, Learner& learner, const Simulation& simulation,
                          const SimDisk::Visit& keep) {
  SHOAL_CHECK_EQ(simulation.cluster.nodes.size(), plan.workers + servers_of(plan.recipe));
  SimulatedJob job{plan, learner, simulation.journal, {}};
  Recorder recorder(1);  // only for the hash and the checkers, not for the last events
  std::vector<std::unique_ptr<Checker>> checkers;
  if (plan.audit) checkers = all_checkers();
  for (const auto& checker : checkers) recorder.observe(*checker);
  WorldOptions options;
  options.seed = plan.seed;
  options.recorder = &recorder;
  options.faults = simulation.faults;
  options.coordinator.minimum = simulation.workers_min;
  options.fixed_view = simulation.faults.faults.empty();
  options.time_limit = std::chrono::hours(24 * 365 * 10);
  World world(simulation.cluster, options);

  SimulationResult result;
  result.outcome = world.run([&](Node& node) { return worker(node, job); });
  result.ended = job.results.size();
  for (const auto& checker : checkers)
    if (result.violation.empty() && !checker->violations().empty())
      result.violation = checker->violations().front();
  world.disk().each_file(keep);
  if (job.results.empty()) return result;
  result.train = result_of(job);
  result.train.summary.trace_hash = result.outcome.hash;
  keep_text(keep, "summary.json", to_json(result.train.summary));
  return result;
}

}  // namespace shoal
