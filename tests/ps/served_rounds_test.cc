// Reproducible jobs with servers: sums of logical shards in one fixed order, in spite of losses.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "ps/served_job.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

class Rounds : public testing::Test {
 protected:
  Rounds() {
    job.recipe.ps.consistency = consistency::Synchronous{};
    job.task.rule = default_rule(RuleKind::Momentum);
    job.task.eta = 0.02;
    job.task.epochs = 2;
    job.recipe.shards = 8;
    job.task.global_batch = 21;
    job.task.samples = 100;
  }
  // A step of three workers takes some 35 ms, and there are ten.
  Outcome run(std::size_t servers, std::size_t workers, const std::function<void(World&)>& faults) {
    job.results.clear();
    last.clear();
    World world(served_cluster(job, servers, workers), {.seed = kServedSeed});
    if (faults) faults(world);
    const Outcome outcome = run_served(job, world);
    // All workers read the same final state from the servers.
    for (const auto& [node, result] : job.results) {
      if (node.value() >= servers) last = result;
    }
    return outcome;
  }
  std::vector<float> undisturbed() {
    run(1, 2, {});
    return last;
  }

  ServedJob job;
  std::vector<float> last;
};

TEST_F(Rounds, TheBitsOfOneWorker) {
  const std::vector<float> expected = undisturbed();
  for (const std::size_t P : {1, 3, 5})
    for (const std::size_t S : {0, 2}) {
      run(S, P, {});
      EXPECT_EQ(last, expected) << P << " workers, " << S << " servers";
    }
}

TEST_F(Rounds, ALostServerWithACopyChangesNoBit) {
  const std::vector<float> expected = undisturbed();
  job.recipe.ps.copies = 2;
  for (const auto when : {20ms, 61ms, 133ms}) {
    const Outcome outcome =
        run(3, 3, [&](World& w) { w.at(Time(when), [&w] { w.kill(NodeId(1), false); }); });
    EXPECT_FALSE(outcome.probes.contains("ps: a shard was loaded as it was saved"));
    EXPECT_EQ(last, expected) << when.count();
  }
}

// The remaining workers compute its shards, in the step in which it was lost.
TEST_F(Rounds, ALostWorkerChangesNoBit) {
  const std::vector<float> expected = undisturbed();
  std::uint64_t made_up = 0;
  for (const auto when : {11ms, 38ms, 74ms, 92ms, 171ms, 240ms}) {
    const Outcome outcome = run(2, 3, [&](World& w) {
      w.at(Time(when), [&w] { w.kill(NodeId(3), false); });
      w.at(Time(when + 50ms), [&w] { w.kill(NodeId(2), false); });
    });
    made_up += outcome.probes.contains("ps: a worker made up for a lost one") ? 1 : 0;
    EXPECT_EQ(last, expected) << when.count();
  }
  EXPECT_GT(made_up, 2U);
}

TEST_F(Rounds, WorkersThatAreLostAtOnceChangeNoBit) {
  const std::vector<float> expected = undisturbed();
  for (const auto when : {15ms, 62ms, 110ms}) {
    run(2, 5, [&](World& w) {
      for (const std::uint32_t node : {2U, 4U, 5U})
        w.at(Time(when), [&w, node] { w.kill(NodeId(node), false); });
    });
    EXPECT_EQ(last, expected) << when.count();
  }
}

TEST_F(Rounds, AWorkerThatComesBackTakesPartInTheNextStepAndChangesNoBit) {
  const std::vector<float> expected = undisturbed();
  for (const auto when : {11ms, 64ms, 150ms}) {
    run(2, 3, [&](World& w) {
      w.at(Time(when), [&w] { w.kill(NodeId(3), false); });
      w.at(Time(when + 90ms), [&w] { w.restart(NodeId(3)); });
    });
    EXPECT_EQ(last, expected) << when.count();
    EXPECT_TRUE(job.results.contains(NodeId(3)));
  }
}

// Workers that join during a step wait for the next one.
TEST_F(Rounds, AStepWhoseWorkersAreAllLostIsMadeByWhoIsNew) {
  const std::vector<float> expected = undisturbed();
  std::uint64_t taken = 0;
  for (const auto when : {100ms, 140ms, 170ms, 210ms}) {
    const Outcome outcome = run(1, 2, [&](World& w) {
      w.at(Time(20ms), [&w] { w.kill(NodeId(2), false); });
      w.at(Time(60ms), [&w] { w.restart(NodeId(2)); });
      w.at(Time(when), [&w] { w.kill(NodeId(1), false); });
    });
    taken += outcome.probes.contains("ps: a lost piece was taken by another worker") ? 1 : 0;
    EXPECT_EQ(last, expected) << when.count();
  }
  EXPECT_GT(taken, 0U);
}

TEST_F(Rounds, NormsAreRefusedWithTheReason) {
  job.task.rule.clip_norm = 1;
  World world(served_cluster(job, 1, 2), {.seed = kServedSeed});
  const Outcome outcome = world.run(job.program());
  ASSERT_FALSE(outcome.errors.empty());
  EXPECT_NE(outcome.errors[0].what.find("take --update owners"), std::string::npos)
      << outcome.errors[0].what;
}

}  // namespace
}  // namespace shoal
