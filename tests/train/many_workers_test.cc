// Several workers of a simulated training run: their agreement when it is asked to end, when some
// are lost, and when too few are left; and the files in the one folder that they share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "learner/quadratic.h"
#include "recipe/registry.h"
#include "sim/world.h"
#include "support/files_text.h"
#include "train/trainer.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::uint64_t kSamples = 120;

// Its gradient fails from some step on.
class FailingLearner final : public Learner {
 public:
  FailingLearner(QuadraticOptions options, Step fails_at) : whole_(options), fails_at_(fails_at) {}
  const Layout& layout() const override { return whole_.layout(); }
  Substance substance() const override { return whole_.substance(); }
  void initialize(Range w) const override { whole_.initialize(w); }
  Task<void> gradient(Env& env, Range w, GradientTarget target, Portion portion,
                      Channel<Ready>& ready, Score& score) override {
    if (portion.step >= fails_at_) throw DataError("the loss became inf\nHint: take another");
    return whole_.gradient(env, w, target, std::move(portion), ready, score);
  }
  Task<Score> evaluate(Env& env, Range w, std::uint64_t from, std::uint64_t to) override {
    return whole_.evaluate(env, w, from, to);
  }
  std::uint64_t held_out() const override { return whole_.held_out(); }

 private:
  QuadraticLearner whole_;
  Step fails_at_;
};

constexpr Step kNever{1'000'000};

class ManyWorkers : public testing::Test {
 protected:
  ManyWorkers() {
    plan.samples = kSamples;
    plan.seed = Seed(4);
    plan.workers = 3;
    plan.batch = 4;
    plan.global_batch = 12;
    plan.steps = Step(100);
    plan.eta = 0.1;
    plan.world = "sim";
    journal.steps = plan.steps;
    journal.nodes = plan.workers;
    journal.print = [this](const std::string& text) { printed += text; };
  }

  // A step takes about 30 ms.
  World& start(CoordinatorOptions views = {}) {
    Cluster cluster = Cluster::uniform(3, {.latency = 1ms, .bytes_per_s = 1e8});
    cluster.ns_per_element = {1e4, 4e4, 1e2, 1e2, 0, 0, 0, 0};
    return world.emplace(cluster, WorldOptions{.seed = Seed(4), .coordinator = views});
  }
  Task<void> work(Node& node) {
    FailingLearner learner({.seed = Seed(11), .dimensions = Elements(101), .held_out = held_out},
                           node.id == fails ? Step(5) : kNever);
    nodes[node.id] = &node;
    TrainResult result;
    co_await train_worker(node, learner, plan, journal, result);
    nodes.erase(node.id);
    results[node.id] = result;
  }
  void run() {
    const Outcome outcome = world->run([this](Node& node) { return work(node); });
    ASSERT_TRUE(outcome.finished) << outcome.waiting_for;
    ASSERT_TRUE(outcome.errors.empty()) << outcome.errors.front().what;
  }
  std::string file(const std::string& path) {
    InlineEnv env;
    SimFiles files(world->disk(), env, NodeId(0));
    return read_text(files, path);
  }
  // The steps for which each node has written a line.
  std::map<std::string, std::set<std::uint64_t>> lines() {
    std::map<std::string, std::set<std::uint64_t>> steps;
    std::istringstream text(file("metrics.jsonl"));
    for (std::string line; std::getline(text, line);) {
      EXPECT_TRUE(line.starts_with("{\"node\":") && line.ends_with("}")) << line;
      const std::size_t step = line.find("\"step\":") + 7;
      steps[line.substr(8, 1)].insert(std::stoull(line.substr(step)));
    }
    return steps;
  }

  TrainPlan plan;
  std::uint64_t held_out = 0;
  NodeId fails = kNobody;  // in its sixth step
  RunJournalOptions journal;
  std::optional<World> world;
  std::map<NodeId, Node*> nodes;  // the live ones
  std::map<NodeId, TrainResult> results;
  std::string printed;
};

TEST_F(ManyWorkers, OneSpeaksAndAllWriteTheirSteps) {
  start();
  run();
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(results[NodeId(0)].totals.speaks);
  EXPECT_FALSE(results[NodeId(1)].totals.speaks);
  EXPECT_FALSE(results[NodeId(2)].totals.speaks);
  for (const auto& [node, steps] : lines()) EXPECT_EQ(steps.size(), 100U) << "node " << node;
  EXPECT_EQ(lines().size(), 3U);
  const Summary& s = results[NodeId(0)].summary;
  EXPECT_EQ(s.ledger.consumed, 100U * 12);
  EXPECT_EQ(s.lost_nodes, 0U);
  EXPECT_GT(s.bytes_sent_per_worker, 100 * 101 * 4);
  const std::string summary = file("summary.json");
  EXPECT_EQ(parse_summary(summary, "it").params_sha256, s.params_sha256);
}

// `compare` compares systems for a number of steps, not of epochs.
TEST_F(ManyWorkers, AScheduleEndsWithTheStepsWhateverTheKindOfTraining) {
  plan.schedule = parse_schedule("cosine");
  for (const std::uint64_t steps : {4U, 14U}) {  // of 10 per epoch
    plan.steps = journal.steps = Step(steps);
    std::vector<double> expected;
    for (std::uint64_t t = 0; t < steps; ++t)
      expected.push_back(eta(plan.schedule, plan.eta, Step(t), {Step(10), Step(steps)}, 3));
    for (const char* system : {"pytorch", "mxnet", "sparknet"}) {
      plan.recipe = find_system(system).recipe;
      start();
      run();
      std::vector<double> used;
      std::istringstream text(file("metrics.jsonl"));
      for (std::string line; std::getline(text, line);)
        if (line.starts_with("{\"node\":0,"))
          used.push_back(std::stod(line.substr(line.find("\"eta\":") + 6)));
      EXPECT_THAT(used, testing::Pointwise(testing::DoubleNear(1e-7), expected)) << system;
    }
  }
}

// A regression: it waited until the others released its gradients, and they waited for its next
// ones.
TEST_F(ManyWorkers, AWorkerThatFailsByItselfIsNotWaitedFor) {
  fails = NodeId(1);
  plan.rule = default_rule(RuleKind::Momentum);  // Others borrow its state from the owners.
  plan.steps = journal.steps = Step(20);
  for (const char* system : {"shoal", "pytorch", "mxnet", "ssp", "sparknet", "ad-psgd"}) {
    plan.recipe = find_system(system).recipe;
    results.clear();
    for (const std::uint64_t hosts : {1U, 3U}) {
      Cluster cluster = Cluster::uniform(3, {.latency = 1ms, .bytes_per_s = 1e8});
      if (hosts == 1)
        for (Placement& node : cluster.nodes) node.host = HostId(0);
      cluster.completion = Completion::WhenMatched;
      cluster.ns_per_element = {1e4, 4e4, 1e2, 1e2, 0, 0, 0, 0};
      world.emplace(cluster, WorldOptions{.seed = Seed(4)});
      const Outcome outcome = world->run([this](Node& node) { return work(node); });
      ASSERT_TRUE(outcome.finished) << system << outcome.waiting_for;
      ASSERT_EQ(outcome.errors.size(), 1U) << system;
      EXPECT_EQ(outcome.errors.front().node, NodeId(1)) << system;
      EXPECT_THAT(outcome.errors.front().what, HasSubstr("the loss became inf"));
      ASSERT_EQ(results.size(), 2U) << system << ": the others go on without it";
    }
  }
}

TEST_F(ManyWorkers, WhenOneIsAskedToEndAllStopAfterTheSameStepWithACheckpointOfIt) {
  start().at(Time(700ms),
             [this] { nodes.at(NodeId(1))->membership.end_job(Ending::Stopped, "a signal"); });
  run();
  ASSERT_EQ(results.size(), 3U);
  const Step stopped = results[NodeId(0)].summary.steps;
  EXPECT_GT(stopped, Step(5));
  EXPECT_LT(stopped, Step(95));
  for (const auto& [node, result] : results) {
    EXPECT_TRUE(result.totals.left) << node.value();
    EXPECT_EQ(result.summary.steps, stopped) << node.value();
    EXPECT_EQ(result.summary.params_sha256, results[NodeId(0)].summary.params_sha256)
        << node.value();
  }
  EXPECT_THAT(file("checkpoint/latest"), HasSubstr(fmt::format("step-{}", stopped)));
  EXPECT_EQ(parse_summary(file("summary.json"), "it").steps, stopped);
}

TEST_F(ManyWorkers, WhenItsTimeIsSpentAllStopAfterTheSameStepAndEvaluate) {
  journal.budget = 700ms;
  held_out = 12;
  start();
  run();
  ASSERT_EQ(results.size(), 3U);
  const Summary& s = results[NodeId(0)].summary;
  EXPECT_GE(s.wall_s, 0.7);
  EXPECT_LT(s.wall_s, 0.8) << "a step, and the news of the end";
  EXPECT_LT(s.steps, Step(95));
  for (const auto& [node, result] : results) {
    EXPECT_FALSE(result.totals.left) << "it is complete, node " << node.value();
    EXPECT_EQ(result.summary.steps, s.steps) << node.value();
    EXPECT_EQ(result.summary.params_sha256, s.params_sha256) << node.value();
    ASSERT_FALSE(result.summary.evaluations.empty()) << node.value();
    EXPECT_EQ(result.summary.evaluations.back().step, s.steps) << node.value();
  }
  EXPECT_THAT(file("checkpoint/latest"), HasSubstr(fmt::format("step-{}", s.steps)));
}

TEST_F(ManyWorkers, WhoeverIsLostWhileAllStopTheCheckpointIsThere) {
  std::size_t survivors = 3;
  for (Duration after = 0ms; after < 12ms; after += 1ms) {
    results.clear();
    start().at(Time(700ms),
               [this] { nodes.at(NodeId(1))->membership.end_job(Ending::Stopped, "a signal"); });
    world->at(Time(700ms + after), [this] { world->kill(NodeId(0), false); });
    run();
    survivors = std::min(survivors, results.size());
    const Step stopped = results.at(NodeId(1)).summary.steps;
    EXPECT_EQ(results.at(NodeId(2)).summary.steps, stopped);
    EXPECT_LT(stopped, Step(95));
    EXPECT_THAT(file("checkpoint/latest"), HasSubstr(fmt::format("step-{}", stopped)));
  }
  EXPECT_EQ(survivors, 2U) << "it was never lost before it had left";
}

TEST_F(ManyWorkers, WhoWasNeverLostSpeaksOnAndCountsTheLost) {
  start();
  for (const Duration when : {300ms, 900ms}) {
    world->at(Time(when), [this, when] {
      world->kill(NodeId(0), false);
      world->restart_at(NodeId(0), Time(when + 200ms));
    });
  }
  run();
  ASSERT_EQ(results.size(), 3U);
  EXPECT_TRUE(results[NodeId(1)].totals.speaks);
  EXPECT_FALSE(results[NodeId(0)].totals.speaks);
  const Summary& s = results[NodeId(1)].summary;
  EXPECT_EQ(s.lost_nodes, 2U);
  EXPECT_EQ(s.ledger.consumed, 100U * 12);
  EXPECT_EQ(lines()["1"].size(), 100U);
  EXPECT_LT(lines()["0"].size(), 100U);
  EXPECT_EQ(parse_summary(file("summary.json"), "it").lost_nodes, 2U) << "nobody wrote another";
  EXPECT_THAT(printed, HasSubstr("epoch 10 done"));
}

// As for a worker whose group lost its leader, while others made all the remaining steps.
TEST_F(ManyWorkers, WhoCameBackWasLostThoughNoStepFollows) {
  start();
  world->run([this](Node& node) -> Task<void> {
    if (node.id != NodeId(1)) co_return;
    RunFolder folder(node.files, {});
    RunJournal told(node, folder, journal);
    View view;
    for (std::uint32_t n = 0; n < 3; ++n) {
      Member& member = view.members.emplace_back();
      member.node = NodeId(n);
      member.incarnation = Incarnation(n == 0 ? 2 : 1);
    }
    told.view_begun(view);
    EXPECT_EQ(told.totals().lost_nodes, 1U);
    view.members.pop_back();
    told.view_begun(view);
    EXPECT_EQ(told.totals().lost_nodes, 1U) << "the other may have left in peace";
  });
}

TEST_F(ManyWorkers, WithFewerThanTheMinimumNobodyMakesAStep) {
  CoordinatorOptions views;
  views.minimum = 2;
  start(views);
  world->at(Time(500ms), [this] {
    world->kill(NodeId(0), false);
    world->kill(NodeId(2), false);
  });
  std::string reason;
  world->at(Time(4900ms), [&] { reason = world->coordinator().last_reason(); });
  world->restart_at(NodeId(2), Time(5s));
  run();
  EXPECT_EQ(reason, "waiting: 1 of at least 2 workers are here");
  ASSERT_EQ(results.size(), 2U) << "node 0 did not come back, and two are enough";
  EXPECT_EQ(results[NodeId(1)].summary.ledger.consumed, 100U * 12);
  EXPECT_EQ(lines()["1"].size(), 100U);
  std::istringstream text(file("metrics.jsonl"));
  for (std::string line; std::getline(text, line);) {
    const double time = std::stod(line.substr(line.find("\"time_s\":") + 9));
    EXPECT_TRUE(time < 0.6 || time > 5) << line;
  }
}

}  // namespace
}  // namespace shoal
