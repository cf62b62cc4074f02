// The same strategy source, simulated and between threads of one process: equal results.
#include <gtest/gtest.h>

#include <chrono>

#include "sim/sim_files.h"
#include "sim/world.h"
#include "strategy/sync_job.h"
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

std::map<NodeId, std::vector<float>> in_process(SyncJob& job, std::size_t P, std::size_t loops) {
  SimDisk disk(Seed(4));
  InprocWorld world({.nodes = P, .loops = loops, .seed = Seed(4)}, [&](Env& env, NodeId node) {
    return std::make_unique<SimFiles>(disk, env, node);
  });
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

TEST(SyncInproc, WorkersAreKilledAndComeBackWhileTheOthersTrain) {
  SyncJob job;
  job.sync.steps = Step(200);
  SimDisk disk(Seed(4));
  InprocWorld world({.nodes = 4, .loops = 2, .seed = Seed(4)}, [&](Env& env, NodeId node) {
    return std::make_unique<SimFiles>(disk, env, node);
  });
  // Node 3 pulls the trigger between its own steps, at moments that its program chooses.
  std::atomic<int> kills = 0;
  const NodeProgram train = job.program();
  const auto ends = world.run([&](Node& node) -> Task<> {
    if (node.id != NodeId(3)) co_return co_await train(node);
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(train(node));
      for (int k = 0; k < 3; ++k) {
        co_await node.env.sleep(2ms);
        world.restart(NodeId(static_cast<std::uint32_t>(k % 3)));
        ++kills;
      }
    });
  });
  EXPECT_EQ(kills, 3);
  EXPECT_GE(ends.size(), 4U);
  ASSERT_GE(job.results.size(), 1U);
  const std::vector<float> oracle = job.sequential(Seed(4));
  for (const auto& [node, w] : job.results)
    for (std::size_t i = 0; i < w.size(); ++i)
      ASSERT_NEAR(w[i], oracle[i], 1e-4) << "node " << node.value() << " parameter " << i;
}

}  // namespace
}  // namespace shoal
