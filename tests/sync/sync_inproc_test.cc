// The same strategy, simulated and between threads of one process: equal results.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>

#include "sim/sim_files.h"
#include "sim/world.h"
#include "sync/sync_job.h"
#include "transport/inproc_world.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

std::map<NodeId, std::vector<float>> simulated(SyncJob& job, std::size_t P) {
  World world(Cluster::uniform(P, {.latency = 10us, .bytes_per_s = 1e8}), {.seed = Seed(4)});
  const Outcome o = world.run(job.program());
  EXPECT_TRUE(o.finished && o.errors.empty());
  return std::exchange(job.results, {});
}

std::map<NodeId, std::vector<float>> in_process(SyncJob& job, std::size_t P, std::size_t loops,
                                                std::uint32_t hosts = 1) {
  SimDisk disk(Seed(4));
  InprocOptions options{.nodes = P, .loops = loops, .seed = Seed(4)};
  options.host = [hosts](NodeId node) { return HostId(node.value() % hosts); };
  InprocWorld world(
      options, [&](Env& env, NodeId node) { return std::make_unique<SimFiles>(disk, env, node); });
  for (const NodeEnd& end : world.run(job.program()))
    EXPECT_EQ(static_cast<int>(end.how), static_cast<int>(NodeEnd::How::Returned));
  return std::exchange(job.results, {});
}

TEST(SyncInproc, EqualsTheSimulatedRunBitForBit) {
  for (const std::size_t P : {1U, 2U, 3U, 5U, 8U}) {
    SyncJob job;
    const auto expected = simulated(job, P);
    EXPECT_EQ(expected.size(), P);
    EXPECT_EQ(in_process(job, P, 1), expected) << P << " workers on one thread";
    EXPECT_EQ(in_process(job, P, P), expected) << P << " workers on as many threads";
  }
}

TEST(SyncInproc, WhatIsNeededFirstGoesFirstAndTheBitsAreTheSame) {
  for (const std::size_t P : {2U, 3U, 5U}) {
    SyncJob job;
    job.problem.dimensions = Elements(5000);
    job.recipe.exchange = Exchange::Direct;
    const auto expected = simulated(job, P);
    job.recipe.order = SendOrder::Priority;
    job.tuning.chunk = Bytes(512);
    EXPECT_EQ(simulated(job, P), expected);
    for (const std::uint32_t hosts : {1U, 2U, 5U}) {
      EXPECT_EQ(in_process(job, P, 1, hosts), expected) << P << " workers on one thread";
      EXPECT_EQ(in_process(job, P, P, hosts), expected) << P << " workers on as many threads";
    }
  }
}

// Counts its saves, which rank 0 makes after every step, and calls back.
class CallingCheckpointStore final : public CheckpointStore {
 public:
  explicit CallingCheckpointStore(std::function<void(Step)> saved) : saved_(std::move(saved)) {}
  Task<void> save(Replica& replica) override {
    saved_(replica.step);
    co_return;
  }
  Task<bool> load(Replica&) override { co_return false; }

 private:
  std::function<void(Step)> saved_;
};

TEST(SyncInproc, WorkersAreKilledAndComeBackWhileTheOthersTrain) {
  SyncJob job;
  job.task.steps = Step(400);
  job.task.save_every = Step(1);
  SimDisk disk(Seed(4));
  InprocWorld world({.nodes = 4, .loops = 2, .seed = Seed(4)}, [&](Env& env, NodeId node) {
    return std::make_unique<SimFiles>(disk, env, node);
  });
  // After steps 50, 100 and 150 one of nodes 1 to 3 is killed during training, and restarted.
  std::atomic<std::uint32_t> kills = 0;
  job.checkpoints = [&](Node&) {
    return std::make_unique<CallingCheckpointStore>([&](Step step) {
      const std::uint32_t k = kills;
      if (k < 3 && step == Step(50 * (k + 1))) world.restart(NodeId(1 + kills++));
    });
  };
  std::map<NodeEnd::How, int> ends;
  for (const NodeEnd& end : world.run(job.program())) ++ends[end.how];
  EXPECT_EQ(kills, 3U);
  EXPECT_EQ(ends[NodeEnd::How::Killed], 3);
  EXPECT_EQ(ends[NodeEnd::How::Returned], 4);
  EXPECT_EQ(ends[NodeEnd::How::Failed], 0);
  ASSERT_EQ(job.results.size(), 4U);
  const std::vector<float> oracle = job.sequential(Seed(4));
  for (const auto& [node, w] : job.results) {
    EXPECT_EQ(w, job.results[NodeId(0)]) << "node " << node.value() << " differs in bits";
    for (std::size_t i = 0; i < w.size(); ++i)
      ASSERT_NEAR(w[i], oracle[i], 1e-5) << "node " << node.value() << " parameter " << i;
  }
}

}  // namespace
}  // namespace shoal
