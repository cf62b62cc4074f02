// All workers are lost; each resumes with its own state from when the result was saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "decentral/decentral_job.h"
#include "recipe/registry.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWorkers = 4;
constexpr const char* kOwn = "decentral: a worker went on with a model of its own";

DecentralJob two_epochs(const char* system) {
  DecentralJob job = DecentralJob::like(system);
  job.task.epochs = 2;
  job.task.eta = 0.01;
  job.task.rule = default_rule(RuleKind::Momentum);
  // 10 steps an epoch: at its end the models differ.
  if (job.has("local-steps") && job.get("local-steps") > 1) job.set("local-steps", 3);
  if (job.has("pace")) job.set("pace", "sync");
  return job;
}

// Kills all workers at once, and restarts them.
void lose_all(DecentralJob& job, Time when) {
  World world(DecentralJob::cluster(kWorkers), {.seed = kDecentralSeed});
  world.at(when, [&] {
    for (std::uint32_t n = 0; n < kWorkers; ++n) {
      world.kill(NodeId(n), true);
      world.restart_at(NodeId(n), when + 500ms);
    }
  });
  job.run(world, kWorkers);
}

class Resume : public testing::TestWithParam<const char*> {};

TEST_P(Resume, GivesTheBitsOfTheRunThatWasNotInterrupted) {
  DecentralJob whole = two_epochs(GetParam());
  whole.run(kWorkers);
  EXPECT_FALSE(whole.outcome.probes.contains(kOwn));
  DecentralJob cut = two_epochs(GetParam());
  lose_all(cut, Time(whole.outcome.end.time_since_epoch() * 4 / 5));
  EXPECT_EQ(cut.outcome.probes[kOwn], kWorkers);
  EXPECT_TRUE(cut.results == whole.results);
  EXPECT_TRUE(cut.models == whole.models);
  EXPECT_EQ(cut.applied, whole.applied);
}

INSTANTIATE_TEST_SUITE_P(Systems, Resume,
                         testing::Values("sparknet", "parallel-sgd", "bmuf", "diloco", "easgd",
                                         "d-psgd", "butterfly-sgd", "malt", "tree-easgd"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Resume, AtTheirOwnPaceAllTrainToTheEnd) {
  for (const char* system : {"easgd", "gosgd", "mpca-sgd", "crossbow", "ako", "dogwild"}) {
    DecentralJob whole = two_epochs(system);
    whole.recipe.algorithm = std::get<Decentral>(find_system(system).recipe).algorithm;
    whole.run(kWorkers);
    DecentralJob cut = two_epochs(system);
    cut.recipe.algorithm = whole.recipe.algorithm;
    lose_all(cut, Time(whole.outcome.end.time_since_epoch() * 4 / 5));
    EXPECT_EQ(cut.outcome.probes[kOwn], kWorkers) << system;
    EXPECT_EQ(cut.applied, whole.applied) << system;
    const std::vector<float>& w = cut.results.at(NodeId(0));
    EXPECT_LT(cut.loss(w), cut.loss(std::vector<float>(w.size(), 0.0F))) << system;
  }
}

}  // namespace
}  // namespace shoal
