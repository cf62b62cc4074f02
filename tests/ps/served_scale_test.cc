// The cost of simulating many workers, in counted events: constant per worker, for any number of
// workers.
#include <gtest/gtest.h>

#include "learner/phantom.h"
#include "ps/served_job.h"
#include "sim/world.h"

namespace shoal {
namespace {

constexpr std::uint64_t kStepsEach = 8;  // per worker

Outcome run_workers(std::size_t workers) {
  ServedJob job;
  PhantomLearner phantom({{"layer", Elements(4'000'000), Elements(10), Elements(20)}});
  job.other = &phantom;
  job.keeps = false;
  job.task.samples = workers * job.task.batch * kStepsEach;
  Cluster cluster = served_cluster(job, 4, workers);
  cluster.timing_only = true;
  cluster.ns_per_element = {1e4, 1e4, 0.1, 0.1, 0, 0, 0, 0};
  World world(cluster, {.seed = kServedSeed, .fixed_view = true});
  return run_served(job, world);
}

TEST(ServedScale, AWorkerCostsTheSameHoweverManyThereAre) {
  constexpr std::size_t kFew = 40, kMany = 320;
  const Outcome few = run_workers(kFew);
  const Outcome many = run_workers(kMany);
  const auto more = [&](std::uint64_t Outcome::*count) {
    return static_cast<double>(many.*count) / static_cast<double>(few.*count) * kFew / kMany;
  };
  EXPECT_GT(few.messages, kFew * kStepsEach * 4 * 3);
  EXPECT_NEAR(more(&Outcome::messages), 1, 0.05);
  EXPECT_NEAR(more(&Outcome::occurrences), 1, 0.05);
  EXPECT_NEAR(more(&Outcome::resumptions), 1, 0.05);
}

}  // namespace
}  // namespace shoal
