#include <gtest/gtest.h>

#include <cmath>

#include "train/run_journal.h"

namespace shoal {
namespace {

TEST(UsualStep, IsTheMedianWithoutTheFirstSteps) {
  std::vector<float> seconds(50, 2.0F);
  for (std::size_t i = 0; i < 10; ++i) seconds[i] = 100;
  seconds[20] = 50;
  EXPECT_EQ(usual_step(seconds, 1), 2);
}

TEST(UsualStep, OfSeveralThatBelongTogetherIsTheirMean) {
  std::vector<float> seconds;
  for (std::size_t i = 0; i < 50; ++i) seconds.push_back(i % 10 == 9 ? 11.0F : 1.0F);
  EXPECT_EQ(usual_step(seconds, 1), 1);
  EXPECT_EQ(usual_step(seconds, 10), 2);
  for (std::size_t i = 0; i < 50; ++i) seconds[i] = i % 2 == 0 ? 5.0F : 1.0F;
  EXPECT_EQ(usual_step(seconds, 1), 3);
}

TEST(UsualStep, OfNoneIsUnknown) {
  EXPECT_TRUE(std::isnan(usual_step({}, 1)));
  const std::vector<float> one{3};
  EXPECT_EQ(usual_step(one, 10), 3);
}

}  // namespace
}  // namespace shoal
