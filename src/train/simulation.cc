#include "train/simulation.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

// What the flight recorder knows of the network and of losses.
class Traffic final : public Observer {
 public:
  void on(const Event& event) override {
    if (event.kind == EventKind::SendPosted) sent_ += Bytes(event.b);
    if (event.kind == EventKind::NodeCrashed || event.kind == EventKind::FencedOut) ++lost_;
  }
  Bytes sent() const { return sent_; }
  std::uint64_t lost() const { return lost_; }

 private:
  Bytes sent_;
  std::uint64_t lost_ = 0;
};

struct Job {
  const TrainPlan& plan;
  Learner& learner;
  const RunJournalOptions& journal;
  Traffic traffic;
  std::map<NodeId, TrainResult> results;  // of those that got to the end
};

Task<void> worker(Node& node, Job& job) {
  TrainPlan plan = job.plan;
  RunJournalOptions journal = job.journal;
  if (node.id != NodeId(0)) {
    plan.folder.folder = fmt::format("node-{}", node.id);
    plan.folder.events = false;
    journal.quiet = true;
  }
  TrainResult result;
  co_await train_worker(node, job.learner, plan, journal, result);
  job.results[node.id] = std::move(result);
}

void add_means(const Job& job, const Outcome& outcome, Summary& s) {
  s.compute_s = s.wait_s = 0;
  for (const auto& [node, result] : job.results) {
    s.compute_s += result.summary.compute_s / static_cast<double>(job.results.size());
    s.wait_s += result.summary.wait_s / static_cast<double>(job.results.size());
  }
  s.bytes_sent_per_worker =
      static_cast<double>(job.traffic.sent().value()) / static_cast<double>(job.plan.workers);
  s.lost_nodes = job.traffic.lost();
  s.trace_hash = outcome.hash;
}

bool is_of_all(const std::string& path) {
  return path.ends_with("summary.json") || path.ends_with("config.toml");
}

void keep_text(const SimDisk::Visit& keep, const std::string& path, const std::string& text) {
  keep(path, std::as_bytes(std::span<const char>(text)));
}

}  // namespace

SimulationResult simulate(const TrainPlan& plan, Learner& learner, const Simulation& simulation,
                          const SimDisk::Visit& keep) {
  SHOAL_CHECK_EQ(simulation.cluster.nodes.size(), plan.workers);
  Job job{plan, learner, simulation.journal, {}, {}};
  Recorder recorder(64);
  recorder.observe(job.traffic);
  std::vector<std::unique_ptr<Checker>> checkers;
  if (plan.audit) checkers = all_checkers();
  for (const auto& checker : checkers) recorder.observe(*checker);
  WorldOptions options;
  options.seed = plan.seed;
  options.recorder = &recorder;
  options.faults = simulation.faults;
  options.fixed_view = simulation.faults.faults.empty();
  options.time_limit = std::chrono::hours(24 * 365 * 10);
  World world(simulation.cluster, options);

  SimulationResult result;
  result.outcome = world.run([&](Node& node) { return worker(node, job); });
  result.ended = job.results.size();
  for (const auto& checker : checkers)
    if (result.violation.empty() && !checker->violations().empty())
      result.violation = checker->violations().front();
  world.disk().each_file([&](const std::string& path, std::span<const std::byte> content) {
    if (!is_of_all(path)) keep(path, content);
  });
  keep_text(keep, "config.toml", config_text(plan.config));
  if (job.results.empty()) return result;
  const auto longest = std::ranges::max_element(
      job.results, {}, [](const auto& entry) { return entry.second.totals.steps; });
  result.train = longest->second;
  add_means(job, result.outcome, result.train.summary);
  keep_text(keep, "summary.json", to_json(result.train.summary));
  return result;
}

}  // namespace shoal
