#include "sync/bucket_tuner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <set>

#include "base/random.h"

namespace shoal {
namespace {

constexpr Bytes kMiB{1 << 20};

// The size that it settles on if a step takes cost(size), and the sizes that it tried.
std::pair<Bytes, std::set<std::uint64_t>> settled(Bytes whole,
                                                  const std::function<double(double)>& cost) {
  BucketTuner tuner(kMiB, whole);
  std::set<std::uint64_t> tried;
  Random random(Seed(3), Purpose::Noise);
  Bytes before = tuner.size();
  for (int i = 0; i < 200; ++i) {
    tried.insert(tuner.size().value());
    const double noise = random.chance(0.1) ? 3 : 1 + 0.02 * random.uniform();
    const double seconds = noise * cost(static_cast<double>(before.value()) / 0x1p20);
    before = tuner.size();
    tuner.took(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
  }
  EXPECT_TRUE(tuner.settled());
  return {tuner.size(), tried};
}

TEST(BucketTuner, SettlesOnTheSizeWhoseStepsWereShortest) {
  const Bytes whole(100 << 20);
  EXPECT_EQ(settled(whole, [](double x) { return 0.01 + 0.001 * x; }).first, kMiB);
  EXPECT_EQ(settled(whole, [](double x) { return 0.01 + 0.1 / x; }).first, whole);
  EXPECT_EQ(settled(whole, [](double x) { return 0.01 + 0.1 / x + 0.002 * x; }).first,
            Bytes(4 << 20));
}

TEST(BucketTuner, TriesEverySizeUpToTheWhole) {
  const auto tried = settled(Bytes(100 << 20), [](double) { return 0.01; }).second;
  EXPECT_EQ(tried, (std::set<std::uint64_t>{1 << 20, 4 << 20, 16 << 20, 64 << 20, 100 << 20}));
}

TEST(BucketTuner, AGradientThatIsSmallerThanABucketIsOne) {
  EXPECT_EQ(settled(Bytes(1000), [](double) { return 0.01; }).first, Bytes(1000));
}

TEST(BucketTuner, WithoutSizesBucketsStayAsTheyAre) {
  BucketTuner tuner;
  tuner.took(Duration(5));
  EXPECT_EQ(tuner.size(), Bytes(0));
  EXPECT_TRUE(tuner.settled());
}

}  // namespace
}  // namespace shoal
