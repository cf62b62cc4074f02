// Workers are lost and come back at any moment: nothing hangs, and every sample is trained on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decentral/decentral_job.h"
#include "recipe/registry.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

class Survival : public testing::TestWithParam<const char*> {
 protected:
  Survival() {
    job.recipe.algorithm = std::get<Decentral>(find_system(GetParam()).recipe).algorithm;
    if (job.has("local-steps") && job.get("local-steps") > 3) job.set("local-steps", 3);
    job.task.epochs = 3;
    job.task.samples = 480;
  }
  void expect_trained() {
    const auto whole = static_cast<std::uint64_t>(job.task.samples) * job.task.epochs;
    ASSERT_FALSE(job.results.empty());
    for (const auto& [node, n] : job.applied) EXPECT_EQ(n, whole) << node.value();
    for (const auto& [node, w] : job.results) {
      EXPECT_EQ(w, job.results.begin()->second) << node.value();
      EXPECT_LT(job.loss(w), 0.8 * job.loss(std::vector<float>(w.size(), 0.0F))) << node.value();
    }
  }
  DecentralJob job;
};

TEST_P(Survival, OneIsLostForGood) {
  for (std::uint32_t lost = 0; lost < 4; ++lost)
    for (const Duration when : {3ms, 17ms, 40ms, 70ms}) {
      job.results.clear();
      job.applied.clear();
      World world(DecentralJob::cluster(4), {.seed = kDecentralSeed});
      world.at(Time(when), [&] { world.kill(NodeId(lost), false); });
      job.run(world, 4);
      expect_trained();
      if (HasFailure()) FAIL() << "node " << lost << " lost at " << when.count() << " ns";
    }
}

TEST_P(Survival, OneIsLostAndComesBack) {
  for (std::uint32_t lost = 0; lost < 4; ++lost) {
    job.results.clear();
    job.applied.clear();
    World world(DecentralJob::cluster(4), {.seed = kDecentralSeed});
    world.at(Time(20ms), [&] { world.kill(NodeId(lost), false); });
    world.at(Time(30ms), [&] { world.restart(NodeId(lost)); });
    job.run(world, 4);
    expect_trained();
  }
}

// Rank 0 reads all models in place to save them. If that is interrupted it releases them; otherwise
// their owners would wait forever.
TEST(OwnModels, ThoseCollectedAreGivenBackWhenTheViewEnds) {
  const auto run_until = [](Time lost) {
    DecentralJob job = DecentralJob::like("sparknet");
    Cluster cluster = DecentralJob::cluster(3);
    cluster.completion = Completion::WhenMatched;
    World world(std::move(cluster), {.seed = kDecentralSeed});
    if (lost != Time()) world.at(lost, [&] { world.kill(NodeId(2), false); });
    job.run(world, 3);
    return job.outcome.end;
  };
  const Time end = run_until(Time());
  for (Duration before = 20us; before < 3ms; before += 20us) {
    run_until(end - before);
    if (testing::Test::HasFailure()) FAIL() << before.count() << " ns before the end";
  }
}

INSTANTIATE_TEST_SUITE_P(Systems, Survival,
                         testing::Values("sparknet", "bmuf", "diloco", "easgd", "d-psgd", "ad-psgd",
                                         "gosgd", "butterfly-sgd", "parallel-sgd", "malt",
                                         "tree-easgd", "mpca-sgd", "crossbow", "deepspark", "ako",
                                         "dogwild"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace shoal
