// Which threads spin while a worker waits for others.
#include "app/waits.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(Waits, ByItselfWhoeverKeepsACoreThatNobodyElseNeeds) {
  EXPECT_EQ(who_stays_awake("auto", 3, 2), Awake::Nobody);
  EXPECT_EQ(who_stays_awake("auto", 2, 2), Awake::Loop);
  EXPECT_EQ(who_stays_awake("auto", 9, 16), Awake::Loop);
  EXPECT_EQ(who_stays_awake("auto", 8, 16), Awake::Compute);
}

TEST(Waits, AsItWasTold) {
  EXPECT_EQ(who_stays_awake("spin", 8, 2), Awake::Loop);
  EXPECT_EQ(who_stays_awake("spin", 1, 2), Awake::Compute);
  EXPECT_EQ(who_stays_awake("block", 1, 64), Awake::Nobody);
}

TEST(Cores, AreLeftByAThreadThatComputesAloneWhereOthersIdle) {
  EXPECT_TRUE(leaves_slow_cores("auto", 1, 8, 16));
  EXPECT_TRUE(leaves_slow_cores("auto", 1, 15, 16));
  EXPECT_FALSE(leaves_slow_cores("auto", 1, 16, 16));
  EXPECT_FALSE(leaves_slow_cores("auto", 2, 8, 16));
  EXPECT_FALSE(leaves_slow_cores("keep", 1, 8, 16));
}

}  // namespace
}  // namespace shoal
