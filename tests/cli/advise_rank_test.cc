#include "cli/advise_rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal {
namespace {

using testing::Contains;
using testing::HasSubstr;

Advice candidate(const char* system, double rate, double bytes) {
  Advice c;
  c.system = system;
  c.samples_per_s = rate;
  c.bytes_per_sample = bytes;
  return c;
}

TEST(Advise, OfEqualRatesTheSimplestKindIsFirst) {
  const auto ranked = rank(
      {candidate("gosgd", 100, 10), candidate("pytorch", 100, 10), candidate("downpour", 100, 10)},
      {});
  EXPECT_EQ(ranked[0].system, "pytorch");
  EXPECT_DOUBLE_EQ(ranked[0].worth, 1);
  EXPECT_EQ(ranked[2].system, "downpour");
  EXPECT_THAT(ranked[2].reasons, Contains(HasSubstr("late gradients")));
}

TEST(Advise, ASlowNetworkSpeaksForWhoeverWaitsLess) {
  const auto ranked = rank({candidate("pytorch", 10, 100), candidate("diloco", 100, 1)}, {});
  EXPECT_EQ(ranked[0].system, "diloco");
  EXPECT_THAT(ranked[0].reasons, Contains(HasSubstr("sends least")));
}

TEST(Advise, WishesCount) {
  const std::vector<Advice> both = {candidate("pytorch", 70, 100), candidate("gosgd", 100, 10)};
  EXPECT_EQ(rank(both, {})[0].system, "gosgd");
  EXPECT_EQ(rank(both, {.reproducible = true})[0].system, "pytorch");
  EXPECT_EQ(rank(both, {.unbalanced = true})[0].system, "pytorch");
  EXPECT_EQ(rank(both, {.unstable = true})[0].system, "gosgd");
  EXPECT_EQ(rank(both, {.simple = true})[0].system, "pytorch");
}

}  // namespace
}  // namespace shoal
