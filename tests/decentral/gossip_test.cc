// Properties of algorithms whose models meet asynchronously.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decentral/decentral_job.h"
#include "recipe/registry.h"

namespace shoal {
namespace {

DecentralJob named(const char* name) {
  DecentralJob job;
  job.recipe.algorithm = std::get<Decentral>(find_system(name).recipe).algorithm;
  job.task.samples = 480;
  return job;
}

TEST(Gosgd, ConsensusErrorFallsAsTheChanceRises) {
  double before = 1e9;
  for (const double chance : {0.0, 0.1, 0.9}) {
    DecentralJob job = named("gosgd");
    job.set("gossip", chance);
    job.run(4);
    EXPECT_LT(job.spread(), before) << chance;
    before = job.spread();
  }
}

TEST(Gosgd, AllSamplesAreTrainedOnOnce) {
  DecentralJob job = named("gosgd");
  job.task.epochs = 2;
  job.run(4);
  for (const auto& [node, n] : job.applied) EXPECT_EQ(n, 960U);
  for (const auto& [node, w] : job.results) EXPECT_EQ(w, job.results[NodeId(0)]);
}

TEST(Gosgd, WeightedSumOfModelsIsConservedAndARateOfZeroReachesConsensus) {
  DecentralJob job = named("gosgd");
  job.set("gossip", 0.9);
  job.run_then_rest(4);
  const double apart = job.spread();
  const std::vector<float> before = job.results[NodeId(0)];
  job.rest_on(4);
  DecentralJob::expect_near(job.results[NodeId(0)], before);
  EXPECT_GT(apart, 1e-3);
  EXPECT_LT(job.spread(), 1e-3 * apart);
}

TEST(AdPsgd, MeanOfModelsIsConservedAndARateOfZeroReachesConsensus) {
  DecentralJob job = named("ad-psgd");
  job.set("local-steps", 2);
  job.run_then_rest(4);
  const double apart = job.spread();
  const std::vector<float> before = job.results[NodeId(0)];
  job.rest_on(4);
  DecentralJob::expect_near(job.results[NodeId(0)], before);
  EXPECT_GT(apart, 1e-3);
  EXPECT_LT(job.spread(), 1e-3 * apart);
  for (const auto& [node, n] : job.applied) EXPECT_EQ(n, 2 * job.task.samples);
}

TEST(AdPsgd, BringsModelsTogether) {
  DecentralJob alone = named("parallel-sgd");
  alone.run(4);
  DecentralJob job = named("ad-psgd");
  job.run(4);
  EXPECT_LT(job.spread(), 0.7 * alone.spread());
  EXPECT_LT(job.loss(job.results[NodeId(0)]), 2 * alone.loss(alone.results[NodeId(0)]) + 1);
}

TEST(AdPsgd, ASlowWorkerTakesFewerSamples) {
  DecentralJob job = named("ad-psgd");
  Cluster cluster = DecentralJob::cluster(4);
  cluster.stragglers.resize(4);
  cluster.stragglers.back() = {Straggler::Kind::Constant, 8};
  World world(cluster, {.seed = kDecentralSeed});
  job.run(world, 4);
  EXPECT_GT(job.steps[NodeId(1)], 3 * job.steps[NodeId(3)]);
}

}  // namespace
}  // namespace shoal
