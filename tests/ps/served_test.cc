// Jobs with servers, told as stories on the quadratic.
#include <gtest/gtest.h>

#include "ps/served_job.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

class ServedStory : public testing::Test {
 protected:
  ServedJob job;
  ServedSetup& setup = job;
  std::map<NodeId, std::vector<float>>& results = job.results;
  std::map<NodeId, std::vector<Time>>& steps = job.steps;

  Cluster cluster(std::size_t servers, std::size_t workers) {
    return served_cluster(job, servers, workers);
  }
  Outcome run(World& world) { return run_served(job, world); }
};

TEST_F(ServedStory, OneWorkerIsSequentialSgd) {
  for (const std::size_t S : {1, 3}) {
    World world(cluster(S, 1), {.seed = kServedSeed});
    run(world);
    job.expect_near(NodeId(static_cast<std::uint32_t>(S)), 6);
  }
}

TEST_F(ServedStory, SynchronousServersEqualOneWorkerOnTheGlobalBatch) {
  setup.recipe.ps.consistency = consistency::Synchronous{};
  setup.task.epochs = 2;
  for (const std::size_t S : {0, 1, 2}) {
    World world(cluster(S, 4), {.seed = kServedSeed});
    run(world);
    job.expect_near(NodeId(static_cast<std::uint32_t>(S)), 24);
  }
}

TEST_F(ServedStory, BoundedByZeroIsSynchronousBitForBit) {
  setup.recipe.ps.consistency = consistency::Synchronous{};
  World sync(cluster(2, 4), {.seed = kServedSeed});
  run(sync);
  const std::vector<float> expected = results[NodeId(2)];
  setup.recipe.ps.consistency = consistency::Bounded(0);
  World zero(cluster(2, 4), {.seed = kServedSeed});
  run(zero);
  EXPECT_EQ(results[NodeId(2)], expected);
}

TEST_F(ServedStory, AllWorkersEndWithTheSameParameters) {
  World world(cluster(2, 3), {.seed = kServedSeed});
  run(world);
  EXPECT_EQ(results[NodeId(2)], results[NodeId(3)]);
  EXPECT_EQ(results[NodeId(2)], results[NodeId(4)]);
}

// Samples a second of the fast workers, without the last part of the epoch.
double rate(const std::vector<Time>& steps) {
  const std::size_t n = steps.size() * 3 / 4;
  return static_cast<double>(n) / seconds(steps[n] - steps[0]);
}

TEST_F(ServedStory, TheRateOfFastWorkersDoesNotDependOnTheSlowest) {
  job.task.samples = 2400;
  World even(cluster(1, 4), {.seed = kServedSeed});
  run(even);
  const double expected = rate(steps[NodeId(1)]);
  steps.clear();
  Cluster uneven = cluster(1, 4);
  uneven.stragglers.resize(5);
  uneven.stragglers[4] = {Straggler::Kind::Constant, 10};
  World world(uneven, {.seed = kServedSeed});
  run(world);
  for (std::uint32_t i = 1; i <= 3; ++i)
    EXPECT_GE(rate(steps[NodeId(i)]), 0.95 * expected) << "node " << i;
  EXPECT_LT(steps[NodeId(4)].size() * 5, steps[NodeId(1)].size());
}

TEST_F(ServedStory, ABoundHoldsFastWorkersToTheSlowest) {
  job.task.samples = 1200;
  setup.recipe.ps.consistency = consistency::Bounded(3);
  Cluster uneven = cluster(1, 4);
  uneven.stragglers.resize(5);
  uneven.stragglers[4] = {Straggler::Kind::Constant, 10};
  World world(uneven, {.seed = kServedSeed});
  run(world);
  for (std::uint32_t i = 1; i <= 3; ++i)
    EXPECT_LE(steps[NodeId(i)].size(), steps[NodeId(4)].size() + 5) << "node " << i;
}

TEST_F(ServedStory, AKilledServersShardIsServedByTheNextInItsChain) {
  setup.recipe.ps.copies = 2;
  setup.recipe.ps.consistency = consistency::Synchronous{};
  World world(cluster(3, 4), {.seed = kServedSeed});
  world.at(Time(20ms), [&] { world.kill(NodeId(1), false); });
  const Outcome outcome = run(world);
  EXPECT_FALSE(outcome.probes.contains("ps: a shard was loaded as it was saved"));
  job.expect_near(NodeId(3), 24);
}

// Momentum, as user code may define it.
UpdateRule heavy_ball() {
  UpdateRule rule;
  rule.name = "heavy ball";
  rule.slots = 1;
  rule.apply = [](const Update& u) {
    for (std::size_t i = 0; i < u.w.size(); ++i) {
      u.slots[0][i] = 0.5F * u.slots[0][i] + u.g[i];
      u.w[i] -= static_cast<float>(u.eta) * u.slots[0][i];
    }
  };
  return rule;
}

TEST_F(ServedStory, TheUsersOwnRuleUpdatesAtTheServers) {
  setup.recipe.ps.consistency = consistency::Synchronous{};
  setup.task.rule = default_rule(RuleKind::Momentum);
  setup.task.rule.momentum = 0.5;
  setup.task.eta = 0.05;
  World known(cluster(2, 3), {.seed = kServedSeed});
  run(known);
  const std::vector<float> expected = results[NodeId(2)];
  setup.task.rule = own_rule(heavy_ball());
  World own(cluster(2, 3), {.seed = kServedSeed});
  run(own);
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(results[NodeId(2)][i], expected[i], 1e-5) << i;
}

TEST_F(ServedStory, CopiesUpdatedByTheUsersOwnRuleAreTheSameBitForBit) {
  setup.recipe.ps.consistency = consistency::Synchronous{};
  setup.recipe.ps.copies = 2;
  setup.task.rule = own_rule(heavy_ball());
  World whole(cluster(3, 3), {.seed = kServedSeed});
  run(whole);
  const std::vector<float> expected = results[NodeId(3)];
  // The new head continues with its own copy of parameters and slots.
  World struck(cluster(3, 3), {.seed = kServedSeed});
  struck.at(Time(20ms), [&] { struck.kill(NodeId(1), false); });
  const Outcome outcome = run(struck);
  EXPECT_FALSE(outcome.probes.contains("ps: a shard was loaded as it was saved"));
  EXPECT_EQ(results[NodeId(3)], expected);
}

TEST_F(ServedStory, AWorkersDeathNeverStopsTheOthers) {
  job.task.samples = 1200;
  World world(cluster(1, 4), {.seed = kServedSeed});
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

TEST_F(ServedStory, StalenessIsThatOfTheOtherWorkersUpdates) {
  World world(cluster(1, 4), {.seed = kServedSeed});
  run(world);
  double sum = 0;
  for (const double s : job.staleness[NodeId(1)]) sum += s;
  // Four equal workers: each sees about three updates of the others before its own.
  EXPECT_NEAR(sum / static_cast<double>(job.staleness[NodeId(1)].size()), 3, 0.5);
}

}  // namespace
}  // namespace shoal
