// Synchronous training with encoded gradients: the same in both worlds, and through checkpoints.
#include <gtest/gtest.h>

#include <chrono>
#include <map>

#include "sim/sim_files.h"
#include "sim/world.h"
#include "sync/sync_job.h"
#include "train/folder_checkpoint_store.h"
#include "transport/inproc_world.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

using Results = std::map<NodeId, std::vector<float>>;

constexpr const char* kEncodings[] = {"topk:0.1+ef", "onebit+ef", "qsgd:4",  "powersgd:1",
                                      "fp32+zstd",   "fp16",      "dgc:0.05"};

SyncJob& encoded(SyncJob& job, const char* encoding) {
  job.problem.dimensions = Elements(1'000);
  job.recipe.encode.as = parse_encoding(encoding);
  return job;
}

Results simulate(SyncJob& job, std::size_t P) {
  World world(Cluster::uniform(P, {.latency = 10us, .bytes_per_s = 1e8}), {.seed = Seed(4)});
  const Outcome o = world.run(job.program());
  EXPECT_TRUE(o.finished && o.errors.empty());
  return std::exchange(job.results, {});
}

Results between_threads(SyncJob& job, std::size_t P, SimDisk& disk) {
  InprocWorld world({.nodes = P, .loops = P, .seed = Seed(4)}, [&](Env& env, NodeId node) {
    return std::make_unique<SimFiles>(disk, env, node);
  });
  for (const NodeEnd& end : world.run(job.program()))
    EXPECT_EQ(static_cast<int>(end.how), static_cast<int>(NodeEnd::How::Returned));
  return std::exchange(job.results, {});
}

TEST(SyncEncoded, EqualsTheSimulatedRunBitForBitAndIsTheSameOnAllWorkers) {
  for (const char* const encoding : kEncodings)
    for (const std::size_t P : {2U, 3U, 5U}) {
      SyncJob job;
      const Results expected = simulate(encoded(job, encoding), P);
      for (const auto& [node, w] : expected) EXPECT_EQ(w, expected.begin()->second) << encoding;
      SimDisk disk(Seed(4));
      EXPECT_EQ(between_threads(job, P, disk), expected) << encoding << ", " << P << " workers";
    }
}

TEST(SyncEncoded, ListsByKylixAreThoseBySparseInBothWorlds) {
  for (const char* const encoding : {"topk:0.1+ef", "randomk:0.5:3"})
    for (const std::size_t P : {2U, 3U, 5U}) {
      SyncJob job;
      encoded(job, encoding).recipe.encode.by = EncodedForm::Sparse;
      const Results expected = simulate(job, P);
      job.recipe.encode.by = EncodedForm::Kylix;
      EXPECT_EQ(simulate(job, P), expected) << encoding << ", " << P << " workers";
      SimDisk disk(Seed(4));
      EXPECT_EQ(between_threads(job, P, disk), expected) << encoding << ", " << P << " workers";
    }
}

TEST(SyncEncoded, OneWorkerIsSequentialSgd) {
  for (const char* const encoding : kEncodings) {
    SyncJob job;
    const Results results = simulate(encoded(job, encoding), 1);
    const std::vector<float> sequential = job.sequential(Seed(4));
    ASSERT_EQ(results.size(), 1U);
    for (std::size_t i = 0; i < sequential.size(); ++i)
      EXPECT_NEAR(results.begin()->second[i], sequential[i], 1e-6F) << encoding << " at " << i;
  }
}

// The checkpoint contains each worker's residual: without it the runs would differ.
TEST(SyncEncoded, AResumedRunEndsAsOneThatWasNotCutOff) {
  for (const char* const encoding : {"topk:0.1+ef", "onebit+ef", "dgc:0.05"})
    for (const std::size_t P : {2U, 3U}) {
      const auto train = [&](SimDisk& disk, Step steps) {
        SyncJob job;
        encoded(job, encoding).task.steps = steps;
        const QuadraticLearner learner(job.problem);
        job.checkpoints = [&](Node& node) {
          return std::make_unique<FolderCheckpointStore>(node, "checkpoint", learner.layout());
        };
        return between_threads(job, P, disk);
      };
      SimDisk whole(Seed(4)), cut_off(Seed(4));
      const Results expected = train(whole, Step(30));
      const Results before = train(cut_off, Step(13));
      const Results after = train(cut_off, Step(30));
      EXPECT_NE(before, expected);
      EXPECT_EQ(after, expected) << encoding << ", " << P << " workers";
    }
}

}  // namespace
}  // namespace shoal
