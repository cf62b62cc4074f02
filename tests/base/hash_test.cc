#include "base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

namespace shoal {
namespace {

std::vector<std::byte> counting(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  return bytes;
}

// Recorded runs depend on the values: they must not change.
TEST(Hash, KeepsItsValues) {
  EXPECT_EQ(Hash().value(), 0x5348'4F41'4C00'0001ULL);
  Hash hash;
  hash.add(0);
  EXPECT_EQ(hash.value(), 0x8C729F2DA72EFD7AULL);
  EXPECT_EQ(hash_of(std::span<const std::byte>(counting(13))), 0x4C5AA561AE84BA27ULL);
}

TEST(Hash, EveryBitOfEveryLengthCounts) {
  for (std::size_t size = 1; size <= 24; ++size) {
    std::vector<std::byte> bytes = counting(size);
    std::set<std::uint64_t> seen{hash_of(std::span<const std::byte>(bytes))};
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      const auto mask = static_cast<std::byte>(1U << (bit % 8));
      bytes[bit / 8] ^= mask;
      EXPECT_TRUE(seen.insert(hash_of(std::span<const std::byte>(bytes))).second)
          << "size " << size << " bit " << bit;
      bytes[bit / 8] ^= mask;
    }
  }
}

TEST(Hash, LengthCountsAlsoForZeros) {
  std::set<std::uint64_t> seen;
  const std::vector<std::byte> zeros(64);
  for (std::size_t size = 0; size <= zeros.size(); ++size)
    EXPECT_TRUE(seen.insert(hash_of(std::span(zeros).first(size))).second) << size;
}

TEST(Hash, OrderCounts) {
  Hash ab;
  ab.add(1);
  ab.add(2);
  Hash ba;
  ba.add(2);
  ba.add(1);
  EXPECT_NE(ab.value(), ba.value());
}

TEST(Hash, OfItemsIsTheHashOfTheirBytes) {
  const std::vector<float> items{1.0F, -2.5F, 3.25F};
  EXPECT_EQ(hash_of(std::span<const float>(items)), hash_of(std::as_bytes(std::span(items))));
  std::vector<float> other = items;
  other[1] = -0.0F;
  std::vector<float> positive = items;
  positive[1] = 0.0F;
  EXPECT_NE(hash_of(std::span<const float>(other)), hash_of(std::span<const float>(positive)))
      << "bits are compared, not numbers";
}

// Flipping one input bit flips about half of the output: 64 x 64 pairs are 4,096 fair coins whose
// sum has a standard deviation of 32; a bound of 6 deviations fails once in 5e8 hash functions.
TEST(Hash, OneBitChangesHalfOfTheOutput) {
  int flipped = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    Hash a;
    Hash b;
    a.add(0x0123'4567'89AB'CDEFULL);
    b.add(0x0123'4567'89AB'CDEFULL ^ (1ULL << bit));
    flipped += std::popcount(a.value() ^ b.value());
  }
  EXPECT_NEAR(flipped, 2048, 6 * 32);
}

}  // namespace
}  // namespace shoal
