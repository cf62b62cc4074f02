// Synchronous SGD, told as stories: how a worker's loss, return or freeze affects the others.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/world.h"
#include "sync/sync_job.h"
#include "train/folder_checkpoint_store.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

class SyncStory : public testing::Test {
 protected:
  SyncJob job;
  Recorder recorder;

  // A step takes about 60 ms / P of work, the exchange about 2 P ms.
  Cluster cluster(std::size_t P) {
    Cluster c = Cluster::uniform(P, {.latency = 1ms, .bytes_per_s = 1e8});
    c.ns_per_element = {1e4, 4e4, 1e2, 1e2, 0, 0, 0, 0};
    return c;
  }
  Outcome run(World& world) {
    const Outcome outcome = world.run(job.program());
    EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
    EXPECT_TRUE(outcome.errors.empty()) << outcome.errors.front().what;
    return outcome;
  }
  void expect_sequential(Seed seed) {
    const std::vector<float> oracle = job.sequential(seed);
    ASSERT_FALSE(job.results.empty());
    for (const auto& [node, w] : job.results) {
      EXPECT_EQ(w, job.results.begin()->second) << "node " << node.value() << " differs in bits";
      for (std::size_t i = 0; i < w.size(); ++i)
        ASSERT_NEAR(w[i], oracle[i], 1e-5) << "node " << node.value() << " parameter " << i;
    }
    for (const auto& [node, applied] : job.applied)
      EXPECT_EQ(applied, job.task.steps.value() * job.task.global_batch) << "node " << node.value();
  }
  std::uint64_t probes(const Outcome& o, const std::string& name) {
    const auto it = o.probes.find(name);
    return it == o.probes.end() ? 0 : it->second;
  }
};

TEST_F(SyncStory, OneWorkerIsSequentialSgdBitForBit) {
  World world(cluster(1), {.seed = Seed(4)});
  run(world);
  EXPECT_EQ(job.results[NodeId(0)], job.sequential(Seed(4)));
}

TEST_F(SyncStory, AnyNumberOfWorkersEqualsOneOnTheGlobalBatch) {
  for (std::size_t P = 2; P <= 17; ++P) {
    job.results.clear();
    job.applied.clear();
    World world(cluster(P), {.seed = Seed(4)});
    run(world);
    EXPECT_EQ(job.results.size(), P);
    expect_sequential(Seed(4));
  }
}

TEST_F(SyncStory, AWorkerIsKilledAndTheOthersFinish) {
  World world(cluster(4), {.seed = Seed(4)});
  world.at(Time(100ms), [&] { world.kill(NodeId(2), false); });
  const Outcome o = run(world);
  EXPECT_EQ(job.results.size(), 3U);
  EXPECT_GE(probes(o, "views: a peer was lost inside one"), 1U);
  expect_sequential(Seed(4));
}

TEST_F(SyncStory, AKilledWorkerComesBackAndTakesPartAgain) {
  World world(cluster(4), {.seed = Seed(4)});
  world.at(Time(100ms), [&] {
    world.kill(NodeId(0), false);
    world.restart_at(NodeId(0), Time(130ms));
  });
  run(world);
  EXPECT_EQ(job.results.size(), 4U);
  expect_sequential(Seed(4));
}

TEST_F(SyncStory, AFrozenWorkerIsEvictedThawsAndRejoins) {
  job.task.steps = Step(200);
  World world(cluster(3), {.seed = Seed(4)});
  world.at(Time(50ms), [&] { world.freeze(NodeId(1)); });
  world.at(Time(1500ms), [&] { world.thaw(NodeId(1)); });
  run(world);
  EXPECT_EQ(job.results.size(), 3U);
  EXPECT_EQ(world.incarnation(NodeId(1)), Incarnation(2));
  expect_sequential(Seed(4));
}

TEST_F(SyncStory, AllAreLostAndTheCheckpointGoesOn) {
  job.task.save_every = Step(5);
  const Layout layout = Layout::plain(job.problem.dimensions);
  job.checkpoints = [&](Node& node) {
    return std::make_unique<FolderCheckpointStore>(node, "checkpoint", layout);
  };
  World world(cluster(3), {.seed = Seed(4)});
  world.at(Time(400ms), [&] {
    for (std::uint32_t n = 0; n < 3; ++n) {
      world.kill(NodeId(n), true);
      world.restart_at(NodeId(n), Time(500ms));
    }
  });
  const Outcome o = run(world);
  EXPECT_GE(probes(o, "sync: the state was loaded from a checkpoint"), 1U);
  expect_sequential(Seed(4));
}

TEST_F(SyncStory, OneIsAStepAheadWhenTheViewChangesAndTheOthersCopyItsState) {
  // With links of uneven speed, some workers finish a step well before others; some kills fall
  // between.
  std::uint64_t copied = 0;
  for (std::uint64_t k = 0; k < 100; ++k) {
    job.results.clear();
    job.applied.clear();
    Cluster c = cluster(5);
    for (std::size_t host = 0; host < 5; ++host) c.hosts[host].nic.latency = 1ms * (1 + 3 * host);
    World world(c, {.seed = Seed(k)});
    world.at(Time(100ms + 1ms * k), [&] { world.kill(NodeId(3), false); });
    copied += probes(run(world), "sync: a state was copied by one a step behind");
    expect_sequential(Seed(k));
  }
  EXPECT_GT(copied, 0U);
}

TEST_F(SyncStory, ANewcomerGetsTheStateWhileTheOthersGoOn) {
  World world(cluster(4), {.seed = Seed(4)});
  world.at(Time(100ms), [&] {
    world.kill(NodeId(2), false);
    world.restart_at(NodeId(2), Time(300ms));
  });
  const Outcome o = run(world);
  EXPECT_GE(probes(o, "sync: the state came during a step"), 1U);
  EXPECT_EQ(job.results.size(), 4U);
  expect_sequential(Seed(4));
}

// Found by the swarm, seed 38: a node that skips a view must also drop the messages that others
// sent it in that view; otherwise they wait for it forever when they retire it.
TEST_F(SyncStory, AViewThatANodeSkipsIsRetiredThereToo) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    job.results.clear();
    job.applied.clear();
    Cluster c = cluster(6);
    c.completion = Completion::WhenMatched;
    World world(c, {.seed = Seed(seed), .time_limit = 60s});
    // A burst of views, a few milliseconds apart, while all members recover.
    world.at(Time(60ms), [&] { world.kill(NodeId(1), false); });
    for (int k = 0; k < 6; ++k)
      world.at(Time(70ms + 3ms * k), [&, k] {
        const NodeId node(static_cast<std::uint32_t>(k % 2 == 0 ? 1 : 4));
        world.restart(node);
        world.kill(NodeId(static_cast<std::uint32_t>(k % 2 == 0 ? 4 : 1)), false);
      });
    world.at(Time(200ms), [&] {
      world.restart(NodeId(1));
      world.restart(NodeId(4));
    });
    run(world);
    expect_sequential(Seed(seed));
  }
}

}  // namespace
}  // namespace shoal
