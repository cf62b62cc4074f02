// Codecs that send a few elements: which elements, and in which form.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "codec/bytes.h"
#include "codec/dgc_step.h"
#include "codec/select.h"
#include "codec_cases.h"

namespace shoal {
namespace {

SparseList list_of(const Codec& codec, const Source& source, const DrawKey& key = {}) {
  std::vector<std::byte> bytes(codec.bound(source.values.size()));
  bytes.resize(codec.encode(source, bytes, key));
  SparseList list;
  codec.decode_list(bytes, source.values.size(), list);
  return list;
}

// Selects by sorting all elements.
std::vector<std::uint32_t> naive_largest(std::span<const float> values, std::size_t k) {
  std::vector<std::uint32_t> at(values.size());
  std::iota(at.begin(), at.end(), 0U);
  std::ranges::stable_sort(
      at, [&](auto a, auto b) { return std::abs(values[a]) > std::abs(values[b]); });
  at.resize(k);
  std::erase_if(at, [&](auto i) { return values[i] == 0; });
  std::ranges::sort(at);
  return at;
}

TEST(Topk, SendsExactlyTheLargest) {
  for (const double ratio : {0.0001, 0.001, 0.01, 0.25, 1.0}) {
    const auto codec = codec_of("topk:" + std::to_string(ratio));
    for (const std::size_t n : {1U, 7U, 100U, 1025U, 20'001U, 70'000U}) {
      const std::vector<float> values = normal_numbers(n);
      const SparseList list = list_of(*codec, {values, values});
      const auto k = std::max<std::size_t>(1, static_cast<std::size_t>(std::round(ratio * n)));
      ASSERT_EQ(list.at, naive_largest(values, k)) << ratio << " of " << n;
      for (std::size_t j = 0; j < list.at.size(); ++j) ASSERT_EQ(list.value[j], values[list.at[j]]);
    }
  }
}

// Distributions that mislead a sample: a few spikes, long runs, steps, mostly zero, all equal.
TEST(Topk, SendsExactlyTheLargestOfUglyDistributions) {
  constexpr std::size_t kN = 40'000;
  std::vector<std::vector<float>> ugly;
  ugly.emplace_back(kN, 1.0F);
  ugly.emplace_back(kN, 0.0F);
  for (std::size_t i = 0; i < 37; ++i) ugly.back()[i * 1001] = -1.0F - static_cast<float>(i);
  ugly.emplace_back(kN, 1e-30F);
  for (std::size_t i = 20'000; i < 20'300; ++i) ugly.back()[i] = static_cast<float>(i);
  ugly.push_back(normal_numbers(kN));
  for (float& x : ugly.back()) x = std::pow(x, 9.0F);
  ugly.push_back(normal_numbers(kN));
  for (float& x : ugly.back()) x = std::round(x);
  ugly.push_back(normal_numbers(kN));
  for (std::size_t i = 0; i < kN; ++i) ugly.back()[i] *= i % 128 == 0 ? 1000.0F : 1e-3F;
  // Large exactly at the sampled places: the first threshold is far too high.
  ugly.push_back(normal_numbers(kN, 1e-3));
  for (const std::uint32_t place : detail::sample_of(kN)) ugly.back()[place] += 5;
  for (const char* name : {"topk:0.001", "topk:0.01", "topk:0.5"}) {
    const auto codec = codec_of(name);
    const auto k = static_cast<std::size_t>(std::get<Topk>(parse_encoding(name).method).ratio * kN);
    for (std::size_t u = 0; u < ugly.size(); ++u)
      EXPECT_EQ(list_of(*codec, {ugly[u], ugly[u]}).at, naive_largest(ugly[u], k)) << name << u;
  }
}

TEST(Topk, SentAndRestAreTheValuesBitForBit) {
  const auto codec = codec_of("topk:0.05+ef");
  const std::vector<float> values = normal_numbers(10'000);
  std::vector<float> sum(values.size());
  std::vector<std::byte> bytes(codec->bound(values.size()));
  bytes.resize(codec->encode_with_residual({values, values}, sum, bytes, {}));
  codec->decode_add(bytes, sum);
  EXPECT_EQ(sum, values);
}

TEST(Strom, SendsWhatReachesTheThresholdAndNothingElse) {
  const auto codec = codec_of("strom:0.5");
  const std::vector<float> values = {0.5F, -0.5F, 0.4999F, 3.0F, 0, -0.1F, -0.75F};
  EXPECT_EQ(there_and_back(*codec, values),
            (std::vector<float>{0.5F, -0.5F, 0, 0.5F, 0, 0, -0.5F}));
}

TEST(Strom, IsAsLargeAsExpectedWhereOneInAHundredIsSent) {
  const std::vector<float> values = normal_numbers(200'000);
  const auto codec = codec_of("strom:2.5758");
  const auto size = static_cast<double>(encoded(*codec, values).size());
  EXPECT_NEAR(size, static_cast<double>(codec->expected(values.size())), 0.1 * size);
}

TEST(Dryden, SendsTheSamePartOfEitherSignAsItsMean) {
  const auto codec = codec_of("dryden:0.02");
  std::vector<float> values = normal_numbers(50'000);
  for (float& x : values) x = x < 0 ? x * 10 : x;
  std::vector<float> positive, negative;
  for (const float x : values) (x < 0 ? negative : positive).push_back(std::abs(x));
  const SparseList list = list_of(*codec, {values, values});
  for (const bool sign : {false, true}) {
    std::vector<float>& all = sign ? negative : positive;
    std::ranges::sort(all, std::greater<>());
    const auto k = static_cast<std::size_t>(std::round(0.02 * static_cast<double>(all.size())));
    const double mean = std::accumulate(all.begin(), all.begin() + static_cast<long>(k), 0.0) /
                        static_cast<double>(k);
    std::size_t sent = 0;
    for (std::size_t j = 0; j < list.at.size(); ++j) {
      if ((values[list.at[j]] < 0) != sign) continue;
      ++sent;
      ASSERT_GE(std::abs(values[list.at[j]]), all[k - 1]);
      ASSERT_FLOAT_EQ(list.value[j], static_cast<float>(sign ? -mean : mean));
    }
    EXPECT_EQ(sent, k);
  }
}

TEST(Dryden, OneSignAloneIsEnough) {
  std::vector<float> values = normal_numbers(5000);
  for (float& x : values) x = -std::abs(x);
  const SparseList list = list_of(*codec_of("dryden:0.01"), {values, values});
  EXPECT_EQ(list.at, naive_largest(values, 50));
}

TEST(Adacomp, SendsOfEachBinWhatWouldSoonBeItsLargest) {
  const auto codec = codec_of("adacomp:4");
  //                              |e + g|             |e + 2 g|
  const std::vector<float> values = {1, -2, 0.5F, 0, 4, 4, -4, 1, 0, 0, 0, 0};
  const std::vector<float> latest = {1, -1, -0.5F, 9, 0, -1, 0, 3, 5, 0, 0, 0};
  const SparseList list = list_of(*codec, {values, latest});
  EXPECT_EQ(list.at, (std::vector<std::uint32_t>{0, 1, 4, 6, 7}));
  EXPECT_EQ(list.value, (std::vector<float>{2, -2, 2, -2, 2})) << "the mean of 2, 4 and 0";
}

TEST(Randomk, EqualKeysChooseEqualPlacesWhateverTheValues) {
  const auto codec = codec_of("randomk:0.01");
  const std::vector<float> x = normal_numbers(10'000, 1, 1), y = normal_numbers(10'000, 1, 2);
  const DrawKey key{Seed(1), 2, 3};
  const SparseList list = list_of(*codec, {x, x}, key);
  EXPECT_EQ(list.at.size(), 100U);
  EXPECT_EQ(list.at, list_of(*codec, {y, y}, key).at);
  EXPECT_NE(list.at, list_of(*codec, {x, x}, {Seed(1), 3, 3}).at);
  for (std::size_t j = 0; j < 100; ++j) EXPECT_EQ(list.value[j], 100 * x[list.at[j]]);
  const SparseList kept = list_of(*codec_of("randomk:0.01+ef"), {x, x}, key);
  for (std::size_t j = 0; j < 100; ++j) EXPECT_EQ(kept.value[j], x[kept.at[j]]);
}

TEST(Randomk, FormsOfOtherKeysAreNotAddedUp) {
  const auto codec = codec_of("randomk:0.1");
  const std::vector<float> x = normal_numbers(100);
  std::vector<std::byte> sum = encoded(*codec, x, {Seed(1), 1, 0});
  EXPECT_THROW(codec->add_encoded(sum, encoded(*codec, x, {Seed(1), 2, 0})), Corrupt);
}

TEST(Dgc, AStepGathersMomentumAndForgetsWhatWasSent) {
  const auto codec = codec_of("dgc:0.5");
  std::vector<float> u = {1, 2, 0, 0}, v = {10, 0, 0, 1};
  const std::vector<float> g = {1, 1, 1, 1};
  dgc_gather(u, v, g, 0.5F);
  EXPECT_EQ(u, (std::vector<float>{1.5F, 2, 1, 1}));
  EXPECT_EQ(v, (std::vector<float>{11.5F, 2, 1, 2}));
  std::vector<std::byte> bytes(codec->bound(4));
  bytes.resize(codec->encode_with_residual({v, g}, v, bytes, {}));
  dgc_forget(*codec, bytes, u);
  EXPECT_EQ(u, (std::vector<float>{0, 0, 1, 1})) << "of equal ones the first was sent";
  EXPECT_EQ(v, (std::vector<float>{0, 0, 1, 2}));
}

// With momentum correction, every gradient enters the sum as often as in momentum SGD.
TEST(Dgc, NothingIsLostWithoutMasking) {
  const auto codec = codec_of("dgc:0.1");
  constexpr std::size_t kN = 50;
  std::vector<float> u(kN), v(kN), sent(kN), dense(kN), momentum(kN);
  for (std::uint64_t step = 0; step < 30; ++step) {
    const std::vector<float> g = normal_numbers(kN, 1, step);
    for (std::size_t i = 0; i < kN; ++i) {
      momentum[i] = 0.9F * momentum[i] + g[i];
      dense[i] += momentum[i];
    }
    dgc_gather(u, v, g, 0.9F);
    std::vector<std::byte> bytes(codec->bound(kN));
    bytes.resize(codec->encode_with_residual({v, g}, v, bytes, {}));
    codec->decode_add(bytes, sent);
  }
  for (std::size_t i = 0; i < kN; ++i) ASSERT_NEAR(sent[i] + v[i], dense[i], 1e-4) << i;
}

TEST(Dgc, WarmupQuartersWhatIsSentForFourEpochs) {
  const double sent[] = {0.25, 0.0625, 0.015625, 0.00390625, 0.001, 0.001};
  for (std::uint64_t epoch = 0; epoch < 6; ++epoch)
    EXPECT_DOUBLE_EQ(dgc_ratio(epoch, 0.001), sent[epoch]);
  EXPECT_EQ(dgc_ratio(1, 0.1), 0.1) << "never less than asked for";
}

TEST(Dgc, ClippingIsLocal) {
  EXPECT_EQ(dgc_clip(1.0, 4.0, 4), 1.0);
  EXPECT_EQ(dgc_clip(8.0, 4.0, 4), 0.25);
  EXPECT_EQ(dgc_clip(0.0, 1.0, 1), 1.0);
}

}  // namespace
}  // namespace shoal
