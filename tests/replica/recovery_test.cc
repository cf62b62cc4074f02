#include "replica/recovery.h"

#include <gtest/gtest.h>

#include <vector>

namespace shoal {
namespace {

using Needs = std::vector<bool>;

Needs needs(const std::vector<Standing>& standings) {
  return in_need(standings, plan_recovery(standings));
}

TEST(Recovery, AllLevelNeedNothing) {
  EXPECT_EQ(needs({{5, 1, 1}, {5, 1, 1}, {5, 1, 1}}), (Needs{false, false, false}));
}

TEST(Recovery, OneStepBehindCopiesTheState) {
  EXPECT_EQ(needs({{5, 1, 1}, {6, 1, 1}, {5, 1, 1}}), (Needs{true, false, true}));
}

TEST(Recovery, ANewcomerCopiesTheState) {
  EXPECT_EQ(needs({{0, 0, 0}, {6, 1, 1}, {6, 1, 1}}), (Needs{true, false, false}));
}

TEST(Recovery, WhenNobodyHasAStateRankZeroLoadsIt) {
  const std::vector<Standing> standings = {{0, 0, 0}, {0, 0, 0}};
  EXPECT_TRUE(plan_recovery(standings).from_checkpoint);
  EXPECT_EQ(needs(standings), (Needs{false, true}));
}

TEST(Recovery, AnEarlierLineageIsOverEvenIfItWasFurther) {
  EXPECT_EQ(needs({{9, 1, 1}, {4, 6, 1}}), (Needs{true, false}));
}

TEST(Recovery, TrainingGoesOnUnlessMostHaveNoState) {
  EXPECT_TRUE(goes_on({false, false, false}));
  EXPECT_TRUE(goes_on({true, false}));
  EXPECT_TRUE(goes_on({true, false, true, false}));
  EXPECT_FALSE(goes_on({true, false, true}));
}

TEST(RecoveryDeathTest, TwoStepsApartCannotBe) {
  EXPECT_DEATH(needs({{5, 1, 1}, {7, 1, 1}}), "more than a step apart");
}

}  // namespace
}  // namespace shoal
