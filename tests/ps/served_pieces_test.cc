// Parameters of more than one piece: readers get the first pieces while the last are computed.
#include <gtest/gtest.h>

#include <atomic>

#include "ps/protocol.h"
#include "ps/served_job.h"
#include "sim/sim_files.h"
#include "transport/inproc_world.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr Elements kFourPieces{3 * kPiece.value() + 12345};

class ServedPieces : public testing::Test {
 protected:
  ServedPieces() {
    job.problem.dimensions = kFourPieces;
    job.task.batch = 2;
    job.keeps = false;
    job.task.samples = 16;
  }
  ServedJob job;
};

TEST_F(ServedPieces, AreAllOfTheRangeInOrder) {
  Arena arena(kFourPieces, Substance::Phantom);
  EXPECT_EQ(pieces_of(kFourPieces), 4U);
  Elements end{};
  for (std::uint64_t i = 0; i < 4; ++i) {
    const Range piece = piece_of(arena.all(), i);
    EXPECT_EQ(piece.at, end);
    end += piece.n;
  }
  EXPECT_EQ(end, kFourPieces);
  EXPECT_EQ(pieces_of(kUncutMost), 1U);
  EXPECT_EQ(piece_of(arena.range(Elements(7), kUncutMost), 0).n, kUncutMost);
  EXPECT_EQ(pieces_of(Elements(0)), 1U);
}

TEST_F(ServedPieces, InStepEqualOneWorkerOnTheGlobalBatch) {
  job.recipe.ps.consistency = consistency::Synchronous{};
  World world(served_cluster(job, 1, 2), {.seed = kServedSeed});
  run_served(job, world);
  job.expect_near(NodeId(1), 4);
  EXPECT_EQ(job.results[NodeId(1)], job.results[NodeId(2)]);
}

// While one worker reads, others' pushes are applied to another copy.
TEST_F(ServedPieces, AreOfOneVersionWhoeverElsePushes) {
  std::map<std::uint64_t, std::vector<float>> seen;
  job.after_read = [&](std::uint64_t version, std::span<const float> w) {
    std::vector<float>& first = seen[version];
    if (first.empty()) first.assign(w.begin(), w.end());
    EXPECT_TRUE(std::ranges::equal(first, w)) << "two have read version " << version;
  };
  job.recipe.ps.consistency = parse_consistency("bounded:2");
  World world(served_cluster(job, 1, 3), {.seed = kServedSeed});
  run_served(job, world);
  EXPECT_GT(seen.size(), 3U);
  EXPECT_EQ(job.results[NodeId(1)], job.results[NodeId(3)]);
}

// The update takes as long as the way back. Without overlap a step would take both.
TEST_F(ServedPieces, ComeWhileTheUpdateGoesOn) {
  job.recipe.ps.consistency = consistency::Synchronous{};
  job.problem.dimensions = kPiece * 8;
  job.task.samples = 6;
  Cluster cluster = served_cluster(job, 1, 1);
  const double bytes = 4 * static_cast<double>(job.problem.dimensions.value());
  cluster.ns_per_element = {};
  cluster.ns_per_element[static_cast<std::size_t>(Work::Update)] = 40;  // 4 bytes at 1e8 a second
  World world(cluster, {.seed = kServedSeed});
  run_served(job, world);
  const std::vector<Time>& steps = job.steps[NodeId(1)];
  ASSERT_GE(steps.size(), 3U);
  const double way = bytes / 1e8;
  const double step = seconds(steps[2] - steps[1]);
  EXPECT_GT(step, 2 * way);  // the push, and either the update or the way back
  EXPECT_LT(step, 2.3 * way);
}

TEST_F(ServedPieces, AServerIsKilledWhileItsParametersAreRead) {
  job.recipe.ps.consistency = consistency::Synchronous{};
  job.recipe.ps.copies = 2;
  World whole(served_cluster(job, 2, 2), {.seed = kServedSeed});
  run_served(job, whole);
  const std::vector<float> expected = job.results[NodeId(2)];
  const std::vector<Time> steps = job.steps[NodeId(2)];
  ASSERT_GE(steps.size(), 3U);
  for (const double part : {0.7, 0.9}) {
    const Duration step = steps[2] - steps[1];
    const Duration in(static_cast<Duration::rep>(part * static_cast<double>(step.count())));
    World struck(served_cluster(job, 2, 2), {.seed = kServedSeed});
    struck.at(steps[1] + in, [&] { struck.kill(NodeId(1), false); });
    const Outcome outcome = run_served(job, struck);
    EXPECT_FALSE(outcome.probes.contains("ps: a shard was loaded as it was saved"));
    EXPECT_EQ(job.results[NodeId(2)], expected) << part;
    EXPECT_EQ(job.results[NodeId(3)], expected) << part;
  }
}

// The same sources between threads, which read in place.
TEST_F(ServedPieces, BetweenThreads) {
  for (const char* const consistency : {"synchronous", "async"}) {
    job.recipe.ps.consistency = parse_consistency(consistency);
    job.keeps = false;
    job.task.workers = 2;
    job.recipe.ps.servers = 1;
    InprocOptions options;
    options.nodes = 3;
    options.loops = 3;
    options.seed = kServedSeed;
    options.role = [](NodeId node) { return node.value() == 0 ? Role::Server : Role::Worker; };
    SimDisk disk(kServedSeed);
    InprocWorld world(options, [&](Env& env, NodeId node) {
      return std::make_unique<SimFiles>(disk, env, node);
    });
    for (const NodeEnd& end : world.run(job.program()))
      EXPECT_EQ(end.how, NodeEnd::How::Returned) << consistency;
    EXPECT_EQ(job.results[NodeId(1)], job.results[NodeId(2)]) << consistency;
    if (job.recipe.ps.consistency == Consistency(consistency::Synchronous{}))
      job.expect_near(NodeId(1), 4);
  }
}

}  // namespace
}  // namespace shoal
