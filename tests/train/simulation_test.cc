#include "train/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "learner/quadratic.h"
#include "recipe/registry.h"
#include "sim/words.h"
#include "train/paced_learner.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct Simulated {
  SimulationResult result;
  std::map<std::string, std::string> files;
};

// The quadratic in 3 buckets; a sample takes 100 us.
struct SimulationTest : testing::Test {
  static constexpr std::uint32_t kBuckets = 3;
  QuadraticLearner quadratic{
      {.seed = Seed(5), .dimensions = Elements(9'000), .buckets = kBuckets, .held_out = 32}};
  const std::vector<Elements> buckets = std::vector<Elements>(kBuckets, Elements(3'000));
  Pace pace = parse_pace("100000", buckets);
  TrainPlan plan;

  SimulationTest() {
    plan.model = "quadratic";
    plan.samples = 256;
    plan.seed = Seed(3);
    plan.workers = 4;
    plan.batch = 8;
    plan.epochs = 2;
    plan.steps = Step(16);
    plan.save_every = Step(8);
    plan.world = "sim";
    plan.audit = true;
  }

  Simulated run(Learner& learner, const std::string& faults = "none") {
    Simulation simulation;
    const std::uint64_t servers = servers_of(plan.recipe);
    simulation.cluster = Cluster::uniform(plan.workers + servers, parse_link("", "1gbit:20us"));
    for (std::uint64_t i = 0; i < servers; ++i)
      simulation.cluster.nodes[plan.workers + i].role = Role::Server;
    simulation.cluster.ns_per_element = {1, 1, 0.5, 1, 0, 0, 0.2, 0};
    simulation.cluster.timing_only = learner.substance() == Substance::Phantom;
    simulation.faults = parse_faults(faults, plan.workers);
    simulation.journal.quiet = true;
    set_length(simulation.journal, plan);
    Simulated s;
    s.result = simulate(plan, learner, simulation, [&](const std::string& path, auto content) {
      s.files[path] = {reinterpret_cast<const char*>(content.data()), content.size()};
    });
    EXPECT_TRUE(s.result.outcome.finished) << s.result.outcome.waiting_for;
    EXPECT_TRUE(s.result.outcome.errors.empty()) << s.result.outcome.errors.front().what;
    EXPECT_EQ(s.result.violation, "");
    return s;
  }
};

TEST_F(SimulationTest, OneSeedLeavesTheSameFilesAndHashTwice) {
  PacedLearner learner(quadratic, pace);
  const Simulated first = run(learner), second = run(learner);
  EXPECT_EQ(first.result.outcome.hash, second.result.outcome.hash);
  EXPECT_EQ(first.files, second.files);
  plan.seed = Seed(4);
  EXPECT_NE(run(learner).result.outcome.hash, first.result.outcome.hash);
}

TEST_F(SimulationTest, ARunThatATimeEndsLastsThatLongAndIsEvaluatedWhoeverUpdates) {
  PacedLearner learner(quadratic, pace);
  plan.epochs = 1000;
  plan.steps = Step(8000);
  plan.budget = 40ms;
  for (const char* system : {"pytorch", "downpour", "diloco"}) {
    plan.system = system;
    plan.recipe = find_system(system).recipe;
    for (const char* faults : {"none", "crash:1@20ms+5ms"}) {
      const Summary s = run(learner, faults).result.train.summary;
      const std::string what = fmt::format("{}, faults {}", system, faults);
      EXPECT_GE(s.wall_s, 0.04) << what;
      // When nodes come or go, the news takes some milliseconds.
      EXPECT_LT(s.wall_s, 0.06) << what;
      ASSERT_FALSE(s.evaluations.empty()) << what;
      EXPECT_EQ(s.evaluations.back().step, s.steps) << what;
    }
  }
}

// In step, servers inside the workers deal and add up as owners do: in the order of workers, or,
// for two workers, as the two shards of the reproducible mode.
TEST_F(SimulationTest, ServersInStepEqualAllReduceBitForBit) {
  PacedLearner learner(quadratic, pace);
  for (const bool reproducible : {false, true}) {
    plan.recipe = InStep{
        .updater = Updater::Owners, .exchange = Exchange::Direct, .shards = reproducible ? 2U : 0U};
    plan.workers = reproducible ? 2 : 4;
    plan.steps = Step(256 * 2 / 8 / plan.workers);
    const std::string expected = run(learner).result.train.summary.params_sha256;
    plan.recipe = Served();
    EXPECT_EQ(run(learner).result.train.summary.params_sha256, expected);
    std::get<Served>(plan.recipe).ps.consistency = consistency::Bounded(0);
    EXPECT_EQ(run(learner).result.train.summary.params_sha256, expected);
    std::get<Served>(plan.recipe).ps.consistency = consistency::Async{};
    EXPECT_NE(run(learner).result.train.summary.params_sha256, expected);
  }
}

// One server, sequential: 2 n T + (n - 1) R + U at most. Links are full duplex, and a worker that
// has read first pushes while others still read: only (n + 1) T + U cannot overlap.
TEST_F(SimulationTest, AStepThroughOneServerTakesItsFormulaAtMost) {
  const std::vector<Elements> one{Elements(2'000'000)};
  const std::unique_ptr<Learner> phantom = phantom_of(parse_pace("1", one), one);
  plan.recipe = find_system("singa").recipe;
  std::get<Served>(plan.recipe).ps.servers = 1;
  plan.evaluate = plan.audit = false;
  plan.batch = 1;
  plan.epochs = 0;
  for (const std::uint64_t n : {2U, 4U, 8U}) {
    plan.workers = n;
    double took[2] = {};
    for (int twice = 0; twice < 2; ++twice) {
      plan.steps = Step(twice == 0 ? 4 : 12);
      took[twice] = run(*phantom).result.train.summary.wall_s;
    }
    const double step = (took[1] - took[0]) / 8;
    const double T = 8e6 / 125e6, R = 1e-3, U = 2e-3;
    const double nd = static_cast<double>(n);
    EXPECT_GE(step, ((nd + 1) * T + U) * 0.999) << n;
    EXPECT_LE(step, (2 * nd * T + (nd - 1) * R + U) * 1.001) << n;
  }
}

// N parameters: each worker sends its gradient to the server; with a server inside each worker, it
// exchanges parts with all others, which sends as much as an all-reduce.
TEST_F(SimulationTest, BytesOfAStepThroughServersAreTheirFormula) {
  plan.evaluate = plan.audit = false;
  plan.samples = 4096;
  plan.epochs = 1;
  const auto phantom = phantom_of(pace, buckets);
  constexpr double kBytes = 9'000 * 4;
  const auto bytes_each = [&](const ParameterServerOptions& ps) {
    plan.recipe = Served{.ps = ps};
    const double steps = 4096.0 / 8 / static_cast<double>(plan.workers);  // per worker
    return run(*phantom).result.train.summary.bytes_sent_per_worker / steps / kBytes;
  };
  const Consistency async = consistency::Async{};
  EXPECT_NEAR(bytes_each({.consistency = async, .servers = 1}), 1, 0.1);
  EXPECT_NEAR(bytes_each({.consistency = async, .servers = 3}), 1, 0.1);
  EXPECT_NEAR(
      bytes_each({.consistency = async, .servers = 1, .push_every = 4, .fetch = fetch::Every{4}}),
      0.25, 0.1);
  EXPECT_NEAR(bytes_each({}), 2 * 3.0 / 4, 0.05);
}

TEST_F(SimulationTest, LeavesTheRunFolderOfATraining) {
  PacedLearner learner(quadratic, pace);
  const Simulated s = run(learner);
  for (const char* file :
       {"config.toml", "metrics.jsonl", "trace.json", "summary.json", "checkpoint/latest"})
    EXPECT_TRUE(s.files.contains(file)) << file;
  const std::string& metrics = s.files.at("metrics.jsonl");
  EXPECT_EQ(std::ranges::count(metrics, '\n'), 4 * 16) << "a line per step and worker";
  const Summary& summary = s.result.train.summary;
  EXPECT_EQ(summary.world, "sim");
  EXPECT_EQ(summary.steps, Step(16));
  EXPECT_EQ(summary.ledger.consumed, 512U);
  EXPECT_EQ(summary.trace_hash, s.result.outcome.hash);
  EXPECT_GT(summary.bytes_sent_per_worker, 16 * 2 * 0.75 * 9'000 * 4);
  EXPECT_THAT(s.files.at("summary.json"), HasSubstr("\"trace_hash\""));
  EXPECT_THAT(s.files.at("summary.json"), HasSubstr("\"straggler-policy\": \"all\""));
  EXPECT_EQ(s.result.ended, 4U);
}

TEST_F(SimulationTest, AStepTakesTheTimeOfItsSamplesAtLeast) {
  PacedLearner learner(quadratic, pace);
  const Summary summary = run(learner).result.train.summary;
  // 8 samples of 100 us in each of 16 steps.
  EXPECT_GE(summary.compute_s, 16 * 8 * 100e-6 - 1e-9);
  EXPECT_GE(summary.wall_s, summary.compute_s);
}

TEST_F(SimulationTest, ThePhantomTakesAsLongAsTheLearnerItStandsFor) {
  plan.evaluate = false;
  PacedLearner learner(quadratic, pace);
  const double real = run(learner).result.train.summary.wall_s;
  const auto phantom = phantom_of(pace, buckets);
  plan.audit = false;
  const Simulated timed = run(*phantom);
  EXPECT_NEAR(timed.result.train.summary.wall_s, real, 1e-4 * real);
  EXPECT_EQ(timed.result.train.summary.params_sha256, "");
  EXPECT_THAT(timed.files.at("summary.json"), HasSubstr("\"train_loss\": null"));
  EXPECT_FALSE(timed.files.contains("checkpoint/latest"));
}

TEST_F(SimulationTest, AWorkerThatDiesAndComesBackCostsTimeAndNoSample) {
  plan.steps = Step(400);
  plan.epochs = 50;
  PacedLearner learner(quadratic, pace);
  const Simulated calm = run(learner), hit = run(learner, "crash:2@100ms+200ms");
  EXPECT_EQ(hit.result.ended, 4U);
  EXPECT_EQ(hit.result.outcome.fired[static_cast<std::size_t>(FaultKind::Kill)], 1U);
  EXPECT_EQ(hit.result.train.summary.lost_nodes, 1U);
  EXPECT_EQ(hit.result.train.summary.ledger.consumed, calm.result.train.summary.ledger.consumed);
  EXPECT_GT(hit.result.train.summary.wall_s, calm.result.train.summary.wall_s);
}

TEST(Pace, OneNumberIsSharedOutByTheSizesOfTheBuckets) {
  const std::vector<Elements> buckets = {Elements(100), Elements(300)};
  const Pace pace = parse_pace("1200", buckets);
  EXPECT_EQ(pace.forward, 400);
  EXPECT_THAT(pace.backward, testing::ElementsAre(200, 600));
  EXPECT_EQ(pace.total(), 1200);
  const Pace same = parse_pace(to_text(pace), buckets);
  EXPECT_EQ(same.forward, pace.forward);
  EXPECT_EQ(same.backward, pace.backward);
}

TEST(Pace, AnythingElseIsRefused) {
  const std::vector<Elements> buckets = {Elements(100), Elements(300)};
  for (const char* text : {"", "fast", "1,2", "1,2,3,4", "-1", "1,,3"})
    EXPECT_THROW(parse_pace(text, buckets), ConfigError) << text;
}

}  // namespace
}  // namespace shoal
