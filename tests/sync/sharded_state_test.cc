// The optimizer's slots, and optionally the parameters, stay with the owners of their parts, and
// survive the loss of any owner.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/world.h"
#include "sync/sync_job.h"
#include "train/folder_checkpoint_store.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

// The parameter: whether parameters also stay with the owners.
class HeldPartsStory : public testing::TestWithParam<bool> {
 protected:
  SyncJob job;

  HeldPartsStory() {
    job.recipe.updater = Updater::Owners;
    if (GetParam()) job.tuning.hold_parameters = Bytes(0);
  }

  // One host, where parts are read in place. A step takes some 30 ms, mostly update and copies.
  static Cluster cluster(std::size_t P) {
    Cluster c = Cluster::uniform(P, {.latency = 100us, .bytes_per_s = 1e8});
    c.ns_per_element = {1e3, 4e3, 1e2, 5e4, 0, 0, 5e4, 0};
    for (Placement& p : c.nodes) p.host = HostId(0);
    return c;
  }
  Outcome run(World& world) {
    job.results.clear();
    job.slots_left.clear();
    Outcome outcome = world.run(job.program());
    EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
    EXPECT_TRUE(outcome.errors.empty()) << outcome.errors.front().what;
    for (const auto& [node, slots] : job.slots_left) {
      EXPECT_EQ(job.results[node], job.results.begin()->second) << "node " << node.value();
      EXPECT_EQ(slots, job.slots_left.begin()->second) << "node " << node.value();
    }
    return outcome;
  }
  Outcome run(const Cluster& c) {
    World world(c, {.seed = Seed(4)});
    return run(world);
  }
  static void expect_near(const std::vector<float>& is, const std::vector<float>& should_be) {
    ASSERT_EQ(is.size(), should_be.size());
    for (std::size_t i = 0; i < is.size(); ++i) ASSERT_NEAR(is[i], should_be[i], 1e-5) << i;
  }
  void expect_as_of_one_worker(const std::vector<float>& w, const std::vector<float>& slots) {
    expect_near(job.results.begin()->second, w);
    expect_near(job.slots_left.begin()->second, slots);
  }
};

INSTANTIATE_TEST_SUITE_P(Slots, HeldPartsStory, testing::Bool(),
                         [](const auto& which) { return which.param ? "AndParameters" : "Alone"; });

TEST_P(HeldPartsStory, AreThoseOfOneWorkerAndWholeAtTheEnd) {
  for (const RuleKind kind : {RuleKind::Momentum, RuleKind::Adam})
    for (const std::uint32_t shards : {0U, 8U}) {
      job.task.rule = default_rule(kind);
      job.recipe.shards = shards;
      run(cluster(1));
      const std::vector<float> w = job.results.begin()->second;
      const std::vector<float> slots = job.slots_left.begin()->second;
      EXPECT_GT(*std::ranges::max_element(slots), 0);
      for (const std::size_t P : {2U, 3U, 4U, 7U}) {
        run(cluster(P));
        ASSERT_EQ(job.results.size(), P);
        expect_as_of_one_worker(w, slots);
      }
    }
}

// Steps of a rule with two slots copy as much as those of a rule with none.
TEST_P(HeldPartsStory, AreNotCopiedInAStep) {
  const auto step_s = [&](RuleKind kind) {
    job.task.rule = default_rule(kind);
    Cluster c = cluster(4);
    c.ns_per_element = {0, 0, 0, 0, 0, 0, 1e5, 0};
    job.task.steps = Step(20);
    const Time few = run(c).end;
    job.task.steps = Step(40);
    return seconds(run(c).end - few) / 20;
  };
  const double without = step_s(RuleKind::Sgd);
  const double copied = 1e-4 * 101 * 3 / 4;  // three quarters of the parameters
  if (GetParam()) {
    EXPECT_LT(without, 0.2 * copied);
  } else {
    EXPECT_GT(without, copied);
  }
  EXPECT_LT(step_s(RuleKind::Adam), 1.05 * without);
}

TEST_P(HeldPartsStory, OfAnOwnerThatIsLostAtAnyMomentAreStillThere) {
  job.task.rule = default_rule(RuleKind::Adam);
  run(cluster(1));
  const std::vector<float> w = job.results.begin()->second;
  const std::vector<float> slots = job.slots_left.begin()->second;
  std::uint64_t finished_without = 0;
  for (Duration at = 40ms; at < 80ms; at += 300us) {
    const std::size_t P = at / 300us % 2 == 0 || !GetParam() ? 4 : 2;
    World world(cluster(P), {.seed = Seed(4)});
    world.at(Time(at), [&] { world.kill(NodeId(static_cast<std::uint32_t>(P / 2)), false); });
    const Outcome o = run(world);
    ASSERT_EQ(job.results.size(), P - 1);
    expect_as_of_one_worker(w, slots);
    const auto probe = o.probes.find("sync: a step was finished without its owners");
    if (probe != o.probes.end()) finished_without += probe->second;
  }
  EXPECT_GT(finished_without, 0U);  // Some kills fell between two parts of an update.
}

TEST_P(HeldPartsStory, AreSavedWhole) {
  job.task.rule = default_rule(RuleKind::Momentum);
  run(cluster(1));
  const std::vector<float> w = job.results.begin()->second;
  const std::vector<float> slots = job.slots_left.begin()->second;
  job.task.save_every = Step(5);
  const Layout layout = Layout::plain(job.problem.dimensions);
  job.checkpoints = [&](Node& node) {
    return std::make_unique<FolderCheckpointStore>(node, "checkpoint", layout);
  };
  World world(cluster(4), {.seed = Seed(4)});
  world.at(Time(400ms), [&] {
    for (std::uint32_t n = 0; n < 4; ++n) {
      world.kill(NodeId(n), false);
      world.restart_at(NodeId(n), Time(500ms));
    }
  });
  const Outcome o = run(world);
  EXPECT_TRUE(o.probes.contains("sync: the state was loaded from a checkpoint"));
  expect_as_of_one_worker(w, slots);
}

}  // namespace
}  // namespace shoal
