#include "strategy/recovery.h"

#include <gtest/gtest.h>

#include <vector>

namespace shoal {
namespace {

std::vector<Need> needs(const std::vector<Standing>& standings) {
  const RecoveryPlan plan = plan_recovery(standings);
  std::vector<Need> all;
  for (std::uint32_t r = 0; r < standings.size(); ++r)
    all.push_back(need_of(standings, plan, Rank(r)));
  return all;
}

using N = Need;

TEST(Recovery, AllLevelNeedNothing) {
  EXPECT_EQ(needs({{5, 1, 1}, {5, 1, 1}, {5, 1, 1}}),
            (std::vector{N::Nothing, N::Nothing, N::Nothing}));
}

TEST(Recovery, OneStepBehindCopiesTheReducedGradient) {
  EXPECT_EQ(needs({{5, 1, 1}, {6, 1, 1}, {5, 1, 1}}),
            (std::vector{N::Reduced, N::Nothing, N::Reduced}));
}

TEST(Recovery, ANewcomerCopiesEverything) {
  EXPECT_EQ(needs({{0, 0, 0}, {6, 1, 1}, {5, 1, 1}}),
            (std::vector{N::Everything, N::Nothing, N::Reduced}));
}

TEST(Recovery, WhenNobodyHasAStateRankZeroLoadsIt) {
  const std::vector<Standing> standings = {{0, 0, 0}, {0, 0, 0}};
  EXPECT_TRUE(plan_recovery(standings).from_keeper);
  EXPECT_EQ(needs(standings), (std::vector{N::Nothing, N::Everything}));
}

TEST(Recovery, AnEarlierLineageIsOverEvenIfItWasFurther) {
  EXPECT_EQ(needs({{9, 1, 1}, {4, 6, 1}}), (std::vector{N::Everything, N::Nothing}));
}

TEST(RecoveryDeathTest, TwoStepsApartCannotBe) {
  EXPECT_DEATH(needs({{5, 1, 1}, {7, 1, 1}}), "more than a step apart");
}

}  // namespace
}  // namespace shoal
