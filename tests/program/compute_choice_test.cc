// How what computes waits for others.
#include "program/compute_choice.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

ComputeChoice with_threads(int threads) {
  ComputeChoice choice;
  choice.threads = threads;
  return choice;
}

TEST(WaitsAwake, ByItselfOnlyWhereCoresAreToSpare) {
  const ComputeChoice one = with_threads(1), three = with_threads(3);
  EXPECT_FALSE(waits_awake("auto", one, 1));
  EXPECT_TRUE(waits_awake("auto", one, 2));
  EXPECT_FALSE(waits_awake("auto", three, 5));
  EXPECT_TRUE(waits_awake("auto", three, 6));
}

TEST(WaitsAwake, AsItWasTold) {
  const ComputeChoice four = with_threads(4);
  EXPECT_TRUE(waits_awake("awake", four, 1));
  EXPECT_FALSE(waits_awake("asleep", four, 64));
}

}  // namespace
}  // namespace shoal
