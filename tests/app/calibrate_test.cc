// Measures real costs; the test does not check how long that takes.
#include "app/calibrate.h"

#include <gtest/gtest.h>

#include "learner/quadratic.h"

namespace shoal {
namespace {

TEST(Calibrate, FindsTheBucketsOfALearner) {
  QuadraticLearner learner({.dimensions = Elements(101), .buckets = 4});
  const std::vector<Elements> buckets = buckets_of(learner);
  ASSERT_EQ(buckets.size(), 4U);
  Elements all;
  for (const Elements n : buckets) all += n;
  EXPECT_EQ(all, Elements(101));
}

TEST(Calibrate, EachBucketHasItsTime) {
  QuadraticLearner learner({.dimensions = Elements(100'000), .buckets = 4});
  const Pace pace = measure_pace(learner, 8);
  ASSERT_EQ(pace.backward.size(), 4U);
  for (const double ns : pace.backward) EXPECT_GE(ns, 0);
  EXPECT_GT(pace.forward, 0);
  EXPECT_LT(pace.forward, pace.total());
}

TEST(Calibrate, WorkHasACost) {
  const ElementCosts costs = measure_elements(default_rule(RuleKind::Adam));
  EXPECT_GT(costs.reduce, 0);
  EXPECT_GT(costs.update, 0);
  EXPECT_GT(costs.copy, 0);
  Cluster cluster;
  set_costs(cluster, costs);
  EXPECT_EQ(cluster.ns_per_element[static_cast<std::size_t>(Work::Update)], costs.update);
  EXPECT_EQ(cluster.ns_per_element[static_cast<std::size_t>(Work::Forward)], 1);
}

}  // namespace
}  // namespace shoal
