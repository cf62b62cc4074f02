// A job with models that meet, on the quadratic, for tests in any world; and parts for oracles.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/recorder.h"
#include "decentral/training_round.h"
#include "decentral/worker.h"
#include "learner/quadratic.h"
#include "recipe/registry.h"
#include "sim/world.h"
#include "train/folder_checkpoint_store.h"

namespace shoal {

inline constexpr Seed kDecentralSeed{11};

using Models = std::vector<std::vector<float>>;

struct DecentralJob {
  TrainingTask task{.samples = 240,
                    .batch = 6,
                    .epochs = 1,
                    .rule = default_rule(RuleKind::Sgd),
                    .evaluate = false};
  Decentral recipe{};
  QuadraticOptions problem{.seed = kDecentralSeed, .dimensions = Elements(50)};
  std::map<NodeId, std::vector<float>> results;
  std::map<NodeId, std::vector<float>> models;  // of each worker, at the end
  std::map<NodeId, std::uint64_t> steps;
  std::map<NodeId, Duration> waits;
  std::map<NodeId, std::uint64_t> applied;  // samples, by the worker's ledger
  std::map<NodeId, Bytes> sent;
  Outcome outcome;

  static DecentralJob like(const char* system) {
    DecentralJob job;
    job.recipe.algorithm = std::get<Decentral>(find_system(system).recipe).algorithm;
    job.recipe.encode = std::get<Decentral>(find_system(system).recipe).encode;
    return job;
  }

  // Settings of its algorithm by name.
  void set(std::string_view name, const std::string& value) {
    for (const Setting& setting : settings_of(recipe))
      if (setting.name == name) return setting.set(value);
    ADD_FAILURE() << name_of(recipe.algorithm) << " has no " << name;
  }
  void set(std::string_view name, const char* value) { set(name, std::string(value)); }
  void set(std::string_view name, bool value) { set(name, value ? "yes" : "no"); }
  template <class Number>
  void set(std::string_view name, Number value) {
    set(name, fmt::format("{}", value));
  }
  // Empty: it has none of this name.
  std::string text(std::string_view name) const {
    Decentral copy = recipe;
    for (const Setting& setting : settings_of(copy))
      if (setting.name == name) return setting.text();
    return "";
  }
  bool has(std::string_view name) const { return !text(name).empty(); }
  std::uint64_t get(std::string_view name) const { return std::stoull(text(name)); }
  template <class Settings>
  const Settings& as() const {
    return std::get<Settings>(recipe.algorithm);
  }
  Topology topology() const { return parse_topology(text("topology")); }

  NodeProgram program() {
    return [this](Node& node) { return work(node); };
  }

  static Cluster cluster(std::size_t workers) {
    using namespace std::chrono_literals;
    Cluster c = Cluster::uniform(workers, {.latency = 100us, .bytes_per_s = 1e8});
    c.ns_per_element = {1e4, 4e4, 1e2, 1e2, 0, 0, 0, 0};
    return c;
  }
  void run(std::size_t workers) {
    World world(cluster(workers), {.seed = kDecentralSeed});
    run(world, workers);
  }
  void run(World& world, std::size_t workers) {
    task.workers = workers;
    outcome = world.run(program());
    EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
    for (const NodeError& error : outcome.errors) ADD_FAILURE() << error.what;
  }

  // Runs one epoch; or one epoch and then another at rate zero, in which only meetings change
  // models.
  void run_then_rest(std::size_t workers) {
    task.schedule = parse_schedule("step:1:1e-20");
    run(workers);
  }
  void rest_on(std::size_t workers) {
    task.epochs = 2;
    run(workers);
  }
  // The consensus error: the sum of the squared distances of the models to their mean.
  double spread() const {
    Models all;
    for (const auto& [node, w] : models) all.push_back(w);
    const std::vector<float> m = mean(all);
    double sum = 0;
    for (const std::vector<float>& w : all)
      for (std::size_t i = 0; i < w.size(); ++i) sum += (w[i] - m[i]) * (w[i] - m[i]);
    return sum;
  }

  // ---- For oracles: the gradients of every worker in each step, all in step.

  // w_r <- w_r - eta g_r, with g_r computed at `at` (which may be w itself).
  class Steps {
   public:
    explicit Steps(const DecentralJob& job)
        : job_(job), learner_(job.problem), ledger_(kDecentralSeed, job.task.samples) {}
    // The mean gradient of each worker's share of the next step, at its model.
    std::optional<Models> gradients(const Models& w) {
      if (done_ == job_.task.samples * job_.task.epochs) return std::nullopt;
      const std::uint64_t P = w.size();
      const std::uint64_t n = std::min(ledger_.left(), P * job_.task.batch);
      Models all;
      for (std::uint64_t r = 0; r < P; ++r) {
        const std::uint64_t own = n / P + (r < n % P ? 1 : 0);
        std::vector<float>& g = all.emplace_back(w[r].size(), 0.0F);
        if (own == 0) continue;
        const Share share = ledger_.deal(NodeId(0), Incarnation(1), own);
        learner_.add_gradients(w[r], ledger_.samples(share), 0, g);
        for (float& x : g) x /= static_cast<float>(share.n);
        ledger_.settle(share, SampleEnd::Applied);
      }
      done_ += n;
      return all;
    }

   private:
    const DecentralJob& job_;
    QuadraticLearner learner_;
    Ledger ledger_;
    std::uint64_t done_ = 0;
  };
  Models initial(std::size_t workers) const {
    return Models(workers, std::vector<float>(problem.dimensions.value(), 0.0F));
  }
  void descend(Models& w, const Models& g, double part = 1) const {
    for (std::size_t r = 0; r < w.size(); ++r)
      for (std::size_t i = 0; i < w[r].size(); ++i)
        w[r][i] -= static_cast<float>(task.eta * part) * g[r][i];
  }
  // to += part (of - from)
  static void move(std::vector<float>& to, double part, const std::vector<float>& of,
                   const std::vector<float>& from) {
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] += static_cast<float>(part) * (of[i] - from[i]);
  }
  static std::vector<float> mean(const Models& w) {
    std::vector<float> m(w[0].size(), 0.0F);
    for (const std::vector<float>& one : w)
      for (std::size_t i = 0; i < m.size(); ++i) m[i] += one[i];
    for (float& x : m) x /= static_cast<float>(w.size());
    return m;
  }
  static void expect_near(const std::vector<float>& a, const std::vector<float>& b,
                          double tolerance = 1e-5) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
  }
  double loss(const std::vector<float>& w) const { return QuadraticLearner(problem).loss(w); }

 private:
  class Told final : public Journal {
   public:
    Told(DecentralJob& job, Node& node) : job_(job), node_(node) {}
    Task<void> step_done(StepReport report) override {
      ++job_.steps[node_.id];
      job_.waits[node_.id] += report.wait;
      co_return;
    }
    Task<void> evaluated(EvaluationReport) override { co_return; }
    void saved(Step) override {}
    Ending leave() override { return Ending::No; }

   private:
    DecentralJob& job_;
    Node& node_;
  };

  Task<void> work(Node& node) {
    QuadraticLearner learner(problem);
    Replica replica(node.endpoint, learner, Ledger(kDecentralSeed, task.samples), slots(task.rule));
    FolderCheckpointStore checkpoints(node, "checkpoint", learner.layout());
    Told told(*this, node);
    co_await decentral_worker(node, learner, checkpoints, replica, task, recipe, &told);
    const std::span<float> w = replica.parameters().data();
    results[node.id].assign(w.begin(), w.end());
    const std::span<float> own = replica.next_w().slice(Elements(0), replica.N).data();
    models[node.id].assign(own.begin(), own.end());
    sent[node.id] = node.endpoint.sent();
    applied[node.id] = replica.ledger.tally().ended[static_cast<std::size_t>(SampleEnd::Applied)];
  }
};

// Counts the models sent between each pair of members, apart from sums over all.
class ModelsBetween final : public Observer {
 public:
  void on(const Event& event) override {
    const bool model = event.kind == EventKind::SendPosted && event.a >> 58U == 1 + kModel;
    if (model) ++sent[{event.node.value(), event.peer.value()}];
  }
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> sent;
};

}  // namespace shoal
