#include "base/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace shoal {
namespace {

Permutation permutation(std::uint64_t n, std::uint64_t epoch) {
  return {n, Random(Seed(9), Purpose::Shuffle, epoch)};
}

TEST(Permutation, TakesEveryValueOnceForAnySize) {
  for (const std::uint64_t n : {1U, 2U, 3U, 4U, 5U, 15U, 16U, 17U, 1000U, 4096U, 65537U}) {
    const Permutation p = permutation(n, n);
    std::vector<int> seen(n, 0);
    for (std::uint64_t i = 0; i < n; ++i) ++seen[p.at(i)];
    for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(seen[i], 1) << "value " << i << " of " << n;
  }
}

TEST(Permutation, IsAnotherOneForAnotherKey) {
  const Permutation a = permutation(1000, 0), b = permutation(1000, 1);
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) same += a.at(i) == b.at(i) ? 1 : 0;
  EXPECT_LT(same, 12);  // 1 expected; more than 11 has probability 1e-9
}

TEST(Permutation, WorksForABillionSamples) {
  const Permutation p = permutation(1'000'000'007, 3);
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_LT(p.at(i), 1'000'000'007U);
}

// A position's image is uniform over keys, and neighbours separate. Chi-square with 99 degrees of
// freedom: above 181 with probability 1e-6; the seed is fixed.
TEST(Permutation, SpreadsPositionsAndNeighboursEvenly) {
  std::vector<int> position(100, 0), distance(100, 0);
  const int rounds = 20000;
  for (int k = 0; k < rounds; ++k) {
    const Permutation p = permutation(101, 1000 + static_cast<std::uint64_t>(k));
    const std::uint64_t a = p.at(17), b = p.at(18);
    if (a < 100) ++position[a];
    ++distance[(b + 101 - a) % 101 - 1];
  }
  const auto chi_square = [](const std::vector<int>& counts) {
    double sum = 0, total = 0;
    for (const int c : counts) total += c;
    const double expected = total / static_cast<double>(counts.size());
    for (const int c : counts) sum += (c - expected) * (c - expected) / expected;
    return sum;
  };
  EXPECT_LT(chi_square(position), 181);
  EXPECT_LT(chi_square(distance), 181);
}

}  // namespace
}  // namespace shoal
