// Jobs with servers, told as stories on the quadratic.
#include "strategy/served.h"

#include <gtest/gtest.h>

#include <map>

#include "learner/quadratic.h"
#include "sim/world.h"
#include "train/snapshot_keeper.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr Seed kSeed{11};

class Served : public testing::Test, public Journal {
 protected:
  ServedOptions options;
  QuadraticOptions problem{.seed = kSeed, .dimensions = Elements(100)};
  std::uint64_t samples = 240;
  std::map<NodeId, std::vector<float>> results;
  std::map<NodeId, std::vector<Time>> steps;  // when each was done
  std::map<NodeId, std::vector<double>> staleness;

  void SetUp() override {
    options.batch = 6;
    options.eta = 0.1;
  }
  // Servers first, then workers.
  Cluster cluster(std::size_t servers, std::size_t workers) {
    Cluster c = Cluster::uniform(servers + workers, {.latency = 100us, .bytes_per_s = 1e8});
    c.ns_per_element = {1e4, 4e4, 1e2, 1e2, 0, 0, 0, 0};
    for (std::size_t i = 0; i < servers; ++i) c.nodes[i].role = Role::Server;
    options.workers = workers;
    options.shards = std::max<std::size_t>(1, servers);
    return c;
  }
  Outcome run(World& world) {
    const Outcome outcome = world.run([this](Node& node) { return program(node); });
    EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
    for (const NodeError& error : outcome.errors) ADD_FAILURE() << error.what;
    return outcome;
  }
  Task<void> program(Node& node) {
    QuadraticLearner learner(problem);
    Replica replica(node.endpoint, learner, Ledger(kSeed, samples), slots(options.rule));
    SnapshotKeeper keeper(node, "checkpoint", learner.layout());
    now_ = [&node] { return node.env.now(); };
    Told told(*this, node);
    co_await served_node(node, learner, keeper, replica, options, &told);
    if (node.membership.now().generation == Generation(0)) co_return;
    const std::span<float> w = replica.parameters().data();
    results[node.id].assign(w.begin(), w.end());
  }
  // Sequential SGD over batches of that size.
  std::vector<float> sequential(std::uint64_t batch) const {
    const QuadraticLearner learner(problem);
    Ledger ledger(kSeed, samples);
    std::vector<float> w(problem.dimensions.value(), 0.0F);
    for (std::uint64_t done = 0; done < samples * options.epochs;) {
      const Share share = ledger.deal(NodeId(0), Incarnation(1), batch);
      std::vector<float> g(w.size(), 0.0F);
      learner.add_gradients(w, ledger.samples(share), 0, g);
      const float scale = 1 / static_cast<float>(share.n);
      for (std::size_t i = 0; i < w.size(); ++i)
        w[i] -= static_cast<float>(options.eta) * (g[i] * scale);
      ledger.settle(share, SampleEnd::Applied);
      done += share.n;
    }
    return w;
  }
  void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << i;
  }

  Task<void> step_done(StepReport) override { co_return; }
  Task<void> evaluated(EvaluationReport) override { co_return; }
  void saved(Step) override {}
  bool leave() override { return false; }

 private:
  class Told final : public Journal {
   public:
    Told(Served& test, Node& node) : test_(test), node_(node) {}
    Task<void> step_done(StepReport report) override {
      test_.steps[node_.id].push_back(node_.env.now());
      test_.staleness[node_.id].push_back(report.staleness);
      co_return;
    }
    Task<void> evaluated(EvaluationReport) override { co_return; }
    void saved(Step) override {}
    bool leave() override { return false; }

   private:
    Served& test_;
    Node& node_;
  };
  std::function<Time()> now_;
};

TEST_F(Served, OneWorkerIsSequentialSgd) {
  for (const std::size_t S : {1, 3}) {
    World world(cluster(S, 1), {.seed = kSeed});
    run(world);
    expect_near(results[NodeId(static_cast<std::uint32_t>(S))], sequential(6));
  }
}

TEST_F(Served, SynchronousServersEqualOneWorkerOnTheGlobalBatch) {
  options.consistency.kind = Consistency::Kind::Synchronous;
  options.epochs = 2;
  for (const std::size_t S : {0, 1, 2}) {
    World world(cluster(S, 4), {.seed = kSeed});
    run(world);
    expect_near(results[NodeId(static_cast<std::uint32_t>(S))], sequential(24));
  }
}

TEST_F(Served, BoundedByZeroIsSynchronousBitForBit) {
  options.consistency.kind = Consistency::Kind::Synchronous;
  World sync(cluster(2, 4), {.seed = kSeed});
  run(sync);
  const std::vector<float> expected = results[NodeId(2)];
  options.consistency = {Consistency::Kind::Bounded, 0};
  World zero(cluster(2, 4), {.seed = kSeed});
  run(zero);
  EXPECT_EQ(results[NodeId(2)], expected);
}

TEST_F(Served, AllWorkersEndWithTheSameParameters) {
  World world(cluster(2, 3), {.seed = kSeed});
  run(world);
  EXPECT_EQ(results[NodeId(2)], results[NodeId(3)]);
  EXPECT_EQ(results[NodeId(2)], results[NodeId(4)]);
}

// Samples a second of the fast workers, without the last part of the epoch.
double rate(const std::vector<Time>& steps) {
  const std::size_t n = steps.size() * 3 / 4;
  return static_cast<double>(n) / seconds(steps[n] - steps[0]);
}

TEST_F(Served, TheRateOfFastWorkersDoesNotDependOnTheSlowest) {
  samples = 2400;
  World even(cluster(1, 4), {.seed = kSeed});
  run(even);
  const double expected = rate(steps[NodeId(1)]);
  steps.clear();
  Cluster uneven = cluster(1, 4);
  uneven.stragglers.resize(5);
  uneven.stragglers[4] = {Straggler::Kind::Constant, 10};
  World world(uneven, {.seed = kSeed});
  run(world);
  for (std::uint32_t i = 1; i <= 3; ++i)
    EXPECT_GE(rate(steps[NodeId(i)]), 0.95 * expected) << "node " << i;
  EXPECT_LT(steps[NodeId(4)].size() * 5, steps[NodeId(1)].size());
}

TEST_F(Served, ABoundHoldsFastWorkersToTheSlowest) {
  samples = 1200;
  options.consistency = {Consistency::Kind::Bounded, 3};
  Cluster uneven = cluster(1, 4);
  uneven.stragglers.resize(5);
  uneven.stragglers[4] = {Straggler::Kind::Constant, 10};
  World world(uneven, {.seed = kSeed});
  run(world);
  for (std::uint32_t i = 1; i <= 3; ++i)
    EXPECT_LE(steps[NodeId(i)].size(), steps[NodeId(4)].size() + 5) << "node " << i;
}

TEST_F(Served, AKilledServersShardIsServedByTheNextInItsChain) {
  options.copies = 2;
  options.consistency.kind = Consistency::Kind::Synchronous;
  World world(cluster(3, 4), {.seed = kSeed});
  world.at(Time(20ms), [&] { world.kill(NodeId(1), false); });
  const Outcome outcome = run(world);
  EXPECT_FALSE(outcome.probes.contains("ps: a shard was loaded as it was saved"));
  expect_near(results[NodeId(3)], sequential(24));
}

TEST_F(Served, AWorkersDeathNeverStopsTheOthers) {
  samples = 1200;
  World world(cluster(1, 4), {.seed = kSeed});
  world.at(Time(30ms), [&] { world.kill(NodeId(2), false); });
  run(world);
  for (const std::uint32_t i : {1, 3, 4}) {
    Duration longest{};
    const std::vector<Time>& done = steps[NodeId(i)];
    for (std::size_t t = 1; t + 2 < done.size(); ++t)
      longest = std::max(longest, done[t] - done[t - 1]);
    EXPECT_LT(longest, 3 * (done[1] - done[0])) << "node " << i;
  }
}

TEST_F(Served, StalenessIsThatOfTheOtherWorkersUpdates) {
  World world(cluster(1, 4), {.seed = kSeed});
  run(world);
  double sum = 0;
  for (const double s : staleness[NodeId(1)]) sum += s;
  // Four equal workers: each sees about three updates of the others before its own.
  EXPECT_NEAR(sum / static_cast<double>(staleness[NodeId(1)].size()), 3, 0.5);
}

}  // namespace
}  // namespace shoal
