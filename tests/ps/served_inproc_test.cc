// The same sources between threads of one process, with real messages and real kills.
#include <gtest/gtest.h>

#include <atomic>

#include "ps/served_job.h"
#include "sim/sim_files.h"
#include "transport/inproc_world.h"

namespace shoal {
namespace {

// Servers first, then workers.
InprocOptions nodes(ServedJob& job, std::size_t servers, std::size_t workers, std::size_t loops) {
  job.keeps = false;
  job.task.workers = workers;
  job.recipe.ps.servers = std::max<std::size_t>(1, servers);
  InprocOptions options;
  options.nodes = servers + workers;
  options.loops = loops;
  options.seed = kServedSeed;
  options.role = [servers](NodeId node) {
    return node.value() < servers ? Role::Server : Role::Worker;
  };
  return options;
}

std::map<NodeEnd::How, int> run(ServedJob& job, const InprocOptions& options) {
  SimDisk disk(kServedSeed);
  InprocWorld world(
      options, [&](Env& env, NodeId node) { return std::make_unique<SimFiles>(disk, env, node); });
  std::map<NodeEnd::How, int> ends;
  for (const NodeEnd& end : world.run(job.program())) ++ends[end.how];
  return ends;
}

TEST(ServedInproc, OneWorkerIsSequentialSgd) {
  for (const std::size_t servers : {0U, 1U, 3U}) {
    ServedJob job;
    job.task.epochs = 2;
    auto ends = run(job, nodes(job, servers, 1, 2));
    EXPECT_EQ(ends[NodeEnd::How::Returned], static_cast<int>(servers) + 1);
    job.expect_near(NodeId(static_cast<std::uint32_t>(servers)), 6);
  }
}

TEST(ServedInproc, EveryConsistencyEndsWithTheSameParametersEverywhere) {
  for (const char* const consistency :
       {"synchronous", "async", "bounded:2", "softsync:2", "value:0.5", "reject:3", "backup:1"}) {
    ServedJob job;
    job.recipe.ps.consistency = parse_consistency(consistency);
    job.task.epochs = 2;
    auto ends = run(job, nodes(job, 2, 3, 2));
    EXPECT_EQ(ends[NodeEnd::How::Returned], 5) << consistency;
    EXPECT_EQ(job.results[NodeId(2)], job.results[NodeId(3)]) << consistency;
    EXPECT_EQ(job.results[NodeId(2)], job.results[NodeId(4)]) << consistency;
  }
}

TEST(ServedInproc, AServerIsKilledAndTheNextHolderServes) {
  ServedJob job;
  job.recipe.ps.consistency = consistency::Synchronous{};
  job.recipe.ps.copies = 2;
  job.task.samples = 2400;
  const InprocOptions options = nodes(job, 3, 4, 2);
  SimDisk disk(kServedSeed);
  InprocWorld world(
      options, [&](Env& env, NodeId node) { return std::make_unique<SimFiles>(disk, env, node); });
  // After some steps of the first worker, the second server is killed and restarted.
  std::atomic<bool> struck = false;
  job.after_step = [&](NodeId worker, std::size_t step) {
    if (worker == NodeId(3) && step == 20 && !struck.exchange(true)) world.restart(NodeId(1));
  };
  std::map<NodeEnd::How, int> ends;
  for (const NodeEnd& end : world.run(job.program())) ++ends[end.how];
  EXPECT_TRUE(struck);
  EXPECT_EQ(ends[NodeEnd::How::Killed], 1);
  EXPECT_EQ(ends[NodeEnd::How::Returned], 7);
  for (std::uint32_t worker = 4; worker < 7; ++worker)
    EXPECT_EQ(job.results[NodeId(worker)], job.results[NodeId(3)]) << "node " << worker;
}

TEST(ServedInproc, GroupsOfWorkersEndWithTheSameParametersEverywhere) {
  for (const char* const groups : {"host", "2"})
    for (const std::uint32_t write_back : {1U, 3U}) {
      ServedJob job;
      job.recipe.ps.groups = parse_groups(groups);
      job.recipe.ps.write_back = write_back;
      job.task.epochs = 2;
      auto ends = run(job, nodes(job, 2, 4, 3));
      EXPECT_EQ(ends[NodeEnd::How::Returned], 6) << groups;
      for (std::uint32_t worker = 3; worker < 6; ++worker)
        EXPECT_EQ(job.results[NodeId(worker)], job.results[NodeId(2)]) << groups << " " << worker;
    }
}

TEST(ServedInproc, ALeaderIsKilledAndItsGroupGoesOn) {
  ServedJob job;
  job.recipe.ps.groups = parse_groups("host");
  job.task.samples = 4800;
  const InprocOptions options = nodes(job, 1, 4, 3);
  SimDisk disk(kServedSeed);
  InprocWorld world(
      options, [&](Env& env, NodeId node) { return std::make_unique<SimFiles>(disk, env, node); });
  std::atomic<bool> struck = false;
  job.after_step = [&](NodeId worker, std::size_t step) {
    if (worker == NodeId(2) && step == 20 && !struck.exchange(true)) world.restart(NodeId(1));
  };
  std::map<NodeEnd::How, int> ends;
  for (const NodeEnd& end : world.run(job.program())) ++ends[end.how];
  EXPECT_TRUE(struck);
  EXPECT_EQ(ends[NodeEnd::How::Killed], 1);
  EXPECT_EQ(ends[NodeEnd::How::Returned], 5);
  for (std::uint32_t worker = 2; worker < 5; ++worker)
    EXPECT_EQ(job.results[NodeId(worker)], job.results[NodeId(1)]) << "node " << worker;
}

}  // namespace
}  // namespace shoal
