// The quadratic and the phantom learner, and plain SGD on them.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "learner/phantom.h"
#include "learner/quadratic.h"
#include "optim/update.h"
#include "support/inline_env.h"

namespace shoal {
namespace {

std::vector<SampleId> first_samples(std::uint64_t n) {
  std::vector<SampleId> ids(n);
  std::iota(ids.begin(), ids.end(), SampleId{0});
  return ids;
}

Task<std::vector<Ready>> buckets_of(Learner& learner, Env& env, Range w, Range g,
                                    std::vector<SampleId> samples) {
  Channel<Ready> ready;
  Portion portion;
  portion.samples = std::move(samples);
  const GradientTarget target{g, nullptr};
  Score score;
  co_await learner.gradient(env, w, target, std::move(portion), ready, score);
  std::vector<Ready> buckets;
  while (auto bucket = co_await ready.next()) buckets.push_back(*bucket);
  co_return buckets;
}

TEST(Quadratic, ItsOptimumIsWhereTheGradientOfAllSamplesIsZero) {
  QuadraticLearner learner({.seed = Seed(3), .dimensions = Elements(130), .noise = 2});
  std::vector<float> g(130, 0);
  learner.add_gradients(learner.optimum(), first_samples(64), 0, g);
  for (std::size_t j = 0; j < g.size(); ++j) EXPECT_EQ(g[j], 0.0F) << j;
  EXPECT_EQ(learner.loss(learner.optimum()), 0.0);
}

TEST(Quadratic, ItsConditionNumberIsTheOneAskedFor) {
  QuadraticLearner learner({.seed = Seed(3), .dimensions = Elements(50), .condition = 1000});
  const auto lambda = learner.curvature();
  EXPECT_FLOAT_EQ(*std::ranges::max_element(lambda) / *std::ranges::min_element(lambda), 1000);
}

TEST(Quadratic, TheGradientDoesNotDependOnHowManyBucketsItComesIn) {
  InlineEnv env;
  std::vector<float> expected;
  for (const std::uint32_t buckets : {1U, 2U, 3U, 7U, 100U}) {
    QuadraticLearner learner({.seed = Seed(3), .dimensions = Elements(100), .buckets = buckets});
    Arena w(Elements(100), Substance::Real), g(Elements(100), Substance::Real);
    learner.initialize(w.all());
    const auto ready = run(buckets_of(learner, env, w.all(), g.all(), first_samples(5)));
    EXPECT_EQ(ready.size(), buckets);
    // Last layer first, without gaps.
    Elements end = Elements(100);
    for (std::size_t b = 0; b < ready.size(); ++b) {
      EXPECT_EQ(ready[b].bucket, b);
      EXPECT_EQ(ready[b].at + ready[b].n, end);
      end = ready[b].at;
    }
    EXPECT_EQ(end, Elements(0));
    const std::vector<float> got(g.all().data().begin(), g.all().data().end());
    if (expected.empty()) expected = got;
    EXPECT_EQ(got, expected);
  }
}

TEST(Quadratic, NoSamplesGiveAZeroGradientInAllBuckets) {
  InlineEnv env;
  QuadraticLearner learner({.seed = Seed(3), .dimensions = Elements(10), .buckets = 2});
  Arena w(Elements(10), Substance::Real), g(Elements(10), Substance::Real);
  std::ranges::fill(g.all().data(), 9.0F);
  EXPECT_EQ(run(buckets_of(learner, env, w.all(), g.all(), {})).size(), 2U);
  for (const float x : g.all().data()) EXPECT_EQ(x, 0.0F);
}

TEST(Sgd, ConvergesToTheKnownOptimumAtTheRateOfTheCurvature) {
  // Without noise the distance along j shrinks by exactly (1 - eta lambda_j) a step.
  InlineEnv env;
  QuadraticLearner learner(
      {.seed = Seed(3), .dimensions = Elements(20), .condition = 10, .noise = 0});
  Arena w(Elements(20), Substance::Real), g(Elements(20), Substance::Real);
  learner.initialize(w.all());
  const int steps = 50;
  for (int t = 0; t < steps; ++t) {
    run(buckets_of(learner, env, w.all(), g.all(), first_samples(4)));
    const UpdateStep step{.eta = 0.5, .t = 1, .samples = 4};
    run(update(env, Rule(), step, UpdateTarget{w.all(), g.all(), Range(), Elements(0), {}}));
  }
  for (std::size_t j = 0; j < 20; ++j) {
    const double start = learner.optimum()[j];
    const double left = std::abs(w.all().data()[j] - start);
    const double expected = std::abs(start) * std::pow(1 - 0.5 * learner.curvature()[j], steps);
    EXPECT_NEAR(left, expected, 1e-5) << j;
  }
}

TEST(Phantom, HasSizesAndTimesAndNoNumbers) {
  InlineEnv env;
  PhantomLearner learner({{"a", Elements(100), Elements(1), Elements(2)},
                          {"pool", Elements(0), Elements(1), Elements(1)},
                          {"b", Elements(1'000'000'000'000), Elements(1), Elements(2)}});
  EXPECT_EQ(learner.layout().parameters(), Elements(1'000'000'000'100));
  Arena w(learner.layout().parameters(), learner.substance());
  EXPECT_TRUE(w.phantom());
  EXPECT_TRUE(w.all().data().empty());
  EXPECT_TRUE(w.all().bytes().phantom());
  const auto ready = run(buckets_of(learner, env, w.all(), w.all(), first_samples(8)));
  ASSERT_EQ(ready.size(), 2U);
  EXPECT_EQ(ready[0].at, Elements(100));
  EXPECT_EQ(ready[1].n, Elements(100));
}

TEST(Range, PartsAreNearlyEqualAndLieEndToEnd) {
  Arena arena(Elements(23), Substance::Real);
  Elements at{};
  for (std::uint64_t i = 0; i < 5; ++i) {
    const Range part = part_of(arena.all(), i, 5);
    EXPECT_EQ(part.at, at);
    EXPECT_EQ(part.n, Elements(i < 3 ? 5 : 4));
    at += part.n;
  }
  EXPECT_EQ(at, Elements(23));
}

}  // namespace
}  // namespace shoal
