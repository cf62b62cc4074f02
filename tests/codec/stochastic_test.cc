// Codecs with random results: their mean, variance and size. Seeds are fixed; with a new seed, a
// test of means would fail for a correct codec with a probability below 1e-9.
#include <gtest/gtest.h>

#include <set>

#include "codec/draws.h"
#include "codec/elias.h"
#include "codec/terngrad_scale.h"
#include "codec_cases.h"

namespace shoal {
namespace {

constexpr double kSigmas = 6.2;  // two-sided: 6e-10

// The mean over keys of sum_i weight_i (decoded_i - target_i), in its own standard deviations.
double z_of(const Codec& codec, std::span<const float> values, std::span<const float> target,
            std::span<const double> weights) {
  constexpr std::uint64_t kKeys = 1500;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t k = 0; k < kKeys; ++k) {
    const std::vector<float> back = there_and_back(codec, values, {Seed(11), k, 3});
    double t = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      t += weights[i] * (static_cast<double>(back[i]) - static_cast<double>(target[i]));
    sum += t;
    squares += t * t;
  }
  const double mean = sum / kKeys;
  const double variance = squares / kKeys - mean * mean;
  return mean / std::sqrt(variance / kKeys + 1e-300);
}

void expect_mean(const Codec& codec, std::span<const float> values, std::span<const float> target,
                 const std::string& name) {
  std::vector<double> even(values.size(), 1.0), sign(values.size()), size(values.size());
  std::vector<double> parity(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    sign[i] = values[i] < 0 ? -1 : 1;
    size[i] = static_cast<double>(values[i]);
    parity[i] = i % 2 == 0 ? 1 : -1;
  }
  EXPECT_LT(std::abs(z_of(codec, values, target, even)), kSigmas) << name << ", all";
  EXPECT_LT(std::abs(z_of(codec, values, target, sign)), kSigmas) << name << ", by sign";
  EXPECT_LT(std::abs(z_of(codec, values, target, size)), kSigmas) << name << ", by size";
  EXPECT_LT(std::abs(z_of(codec, values, target, parity)), kSigmas) << name << ", by parity";
}

TEST(Unbiased, TheMeanOfWhatIsDecodedIsWhatWasEncoded) {
  const std::vector<float> values = normal_numbers(700);
  std::size_t tested = 0;
  for (const std::string& name : all_codecs()) {
    const auto codec = codec_of(name);
    if (!codec->unbiased() || name.starts_with("fp32")) continue;
    std::vector<float> target = values;
    if (name == "terngrad") {
      const float s = terngrad_scale(values);
      for (float& x : target) x = std::clamp(x, -s, s);
    }
    expect_mean(*codec, values, target, name);
    ++tested;
  }
  EXPECT_GE(tested, 12U);
}

// A codec that rounds down is detected: the test above can fail.
TEST(Unbiased, ABiasOfATenthOfAStepIsFound) {
  const auto codec = codec_of("qsgd:4");
  const std::vector<float> values = normal_numbers(700);
  std::vector<float> off = values;
  const std::vector<double> weights(values.size(), 1.0);
  for (float& x : off) x += 0.1F * std::sqrt(512.0F) / 4;
  EXPECT_GT(std::abs(z_of(*codec, values, off, weights)), kSigmas);
}

TEST(Fixed16, IsAMultipleOfItsStepLessThanOneAway) {
  const auto codec = codec_of("fixed16:4");
  const std::vector<float> values = normal_numbers(5000);
  const std::vector<float> back = there_and_back(*codec, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(back[i] * 4096, std::floor(back[i] * 4096));
    ASSERT_LT(std::abs(back[i] - values[i]), 1.0F / 4096);
  }
  const std::vector<float> ends = {8.0F, -8.0F, 1e30F, -9.0F, 1.0F, -0.25F};
  EXPECT_EQ(there_and_back(*codec, ends),
            (std::vector<float>{8 - 1.0F / 4096, -8.0F, 8 - 1.0F / 4096, -8.0F, 1.0F, -0.25F}))
      << "ends saturate, multiples of the step are exact";
}

TEST(Dorefa, HasNoErrorAtTheExtremes) {
  for (const char* name : {"dorefa:1", "dorefa:2", "dorefa:4", "dorefa:8", "dorefa:16"}) {
    std::vector<float> values = normal_numbers(1000);
    for (float& x : values) x = std::clamp(x, -1.0F, 1.0F);
    for (std::uint64_t k = 0; k < 20; ++k) {
      const std::vector<float> back = there_and_back(*codec_of(name), values, {Seed(1), k, 0});
      for (std::size_t i = 0; i < values.size(); ++i)
        if (std::abs(values[i]) == 1) {
          ASSERT_FLOAT_EQ(back[i], values[i]) << name;
        }
    }
  }
}

TEST(Terngrad, ScaleIsTheLargestOfTheClippedPiece) {
  EXPECT_EQ(terngrad_scale(std::vector<float>{3, -4}), 4.0F);
  EXPECT_EQ(terngrad_scale(std::vector<float>{-7}), 7.0F);
  EXPECT_EQ(terngrad_scale(std::vector<float>{}), 0.0F);
  std::vector<float> spike(10'000, 0.0F);
  spike[5] = 100;
  EXPECT_FLOAT_EQ(terngrad_scale(spike), 2.5F);
}

TEST(Terngrad, AScaleFromOutsideIsWhatIsSent) {
  const auto codec = codec_of("terngrad");
  const std::vector<float> values = normal_numbers(1000);
  std::vector<std::byte> bytes(codec->bound(values.size()));
  bytes.resize(terngrad_encode(values, 8.0F, bytes, {Seed(1), 2, 3}));
  for (const float x : decoded(*codec, bytes, values.size()))
    ASSERT_TRUE(x == 0 || std::abs(x) == 8.0F) << x;
}

TEST(Qsgd, VarianceIsWithinThePapersBound) {
  for (const std::uint32_t s : {1U, 4U, 16U, 64U, 500U}) {
    const auto codec = codec_of("qsgd:" + std::to_string(s));
    std::vector<std::vector<float>> blocks = {normal_numbers(512), std::vector<float>(512, 1.0F)};
    blocks.push_back(std::vector<float>(512));
    blocks.back()[3] = 5;
    blocks.back()[4] = 1;
    for (const std::vector<float>& block : blocks) {
      double norm = 0;
      for (const float x : block) norm += static_cast<double>(x) * x;
      double error = 0;
      constexpr int kKeys = 200;
      for (std::uint64_t k = 0; k < kKeys; ++k) {
        const std::vector<float> back = there_and_back(*codec, block, {Seed(5), k, 0});
        for (std::size_t i = 0; i < block.size(); ++i) {
          const double off = static_cast<double>(back[i]) - static_cast<double>(block[i]);
          error += off * off / kKeys;
        }
      }
      const double n = 512;
      EXPECT_LE(error, 1.01 * std::min(n / (s * s), std::sqrt(n) / s) * norm) << s;
    }
  }
}

TEST(Qsgd, EliasIsWithinThePapersSizeAndSaysTheSame) {
  const std::vector<float> values = normal_numbers(512 * 20);
  for (const std::uint32_t s : {1U, 2U, 4U, 8U}) {
    const std::string name = "qsgd:" + std::to_string(s);
    const auto packed = codec_of(name);
    const auto elias = codec_of(name + ":elias");
    EXPECT_EQ(there_and_back(*packed, values), there_and_back(*elias, values));
    const double n = 512;
    const double levels = s * (s + std::sqrt(n));
    const double bits = (3 + 1.5 * std::log2(2 * (s * s + n) / levels)) * levels + 32;
    const auto size = static_cast<double>(encoded(*elias, values).size());
    EXPECT_LE(size * 8, 20 * bits) << s;
    if (s <= 4) {
      EXPECT_LT(size, static_cast<double>(packed->bound(values.size()))) << s;
    }
  }
}

TEST(Qsgd, TakesTheBitsThatItsLevelsNeed) {
  EXPECT_EQ(codec_of("qsgd:1")->bound(512), 4U + 128U);
  EXPECT_EQ(codec_of("qsgd:7")->bound(512), 4U + 256U);
  EXPECT_EQ(codec_of("qsgd:8")->bound(512), 4U + 512U);
  EXPECT_EQ(codec_of("qsgd:127")->bound(512), 4U + 512U);
  EXPECT_EQ(codec_of("qsgd:128")->bound(512), 4U + 1024U);
}

TEST(Elias, NumbersAreReadBackAndTakeTheirBits) {
  const std::vector<std::uint32_t> numbers = {
      1, 2, 3, 4, 7, 8, 15, 16, 17, 100, 1000, 65535, 1U << 20U, 0x7fff'ffffU, 1};
  std::vector<std::byte> bytes(100);
  BitWriter to(bytes.data());
  std::size_t bits = 0;
  for (const std::uint32_t x : numbers) {
    to.put_omega(x);
    bits += omega_bits(x);
  }
  bytes.resize(static_cast<std::size_t>(to.end() - bytes.data()));
  EXPECT_EQ(bytes.size(), (bits + 7) / 8);
  EXPECT_EQ(omega_bits(1), 1U);
  EXPECT_EQ(omega_bits(2), 3U);
  EXPECT_EQ(omega_bits(4), 6U);
  EXPECT_EQ(omega_bits(16), 11U);
  Reader reader(bytes, "test");
  BitReader from(reader);
  for (const std::uint32_t x : numbers) EXPECT_EQ(from.get_omega(0x7fff'ffffU), x);
  from.end();
}

TEST(Draws, AreUniformAndDependOnPlaceAndKeyAlone) {
  const Draws draws({Seed(1), 2, 3});
  constexpr std::size_t kN = 1U << 16U;
  std::vector<float> u(kN);
  draws.uniforms(0, kN, u.data());
  double sum = 0;
  double squares = 0;
  double neighbours = 0;
  for (std::size_t i = 0; i < kN; ++i) {
    ASSERT_TRUE(u[i] >= 0 && u[i] < 1);
    sum += u[i] - 0.5;
    squares += (u[i] - 0.5) * (u[i] - 0.5);
    if (i > 0) neighbours += (u[i] - 0.5) * (u[i - 1] - 0.5);
  }
  const double root = std::sqrt(static_cast<double>(kN));
  EXPECT_LT(std::abs(sum), kSigmas * root * std::sqrt(1.0 / 12));
  EXPECT_LT(std::abs(squares - kN / 12.0), kSigmas * root * std::sqrt(1.0 / 180));
  EXPECT_LT(std::abs(neighbours), kSigmas * root / 12);
  // From any offset on they are the same.
  std::vector<float> part(512);
  draws.uniforms(1024, 512, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), u.begin() + 1024));
  std::set<float> firsts;
  for (std::uint64_t k = 0; k < 100; ++k) {
    for (const DrawKey key :
         {DrawKey{Seed(k + 100), 0, 0}, DrawKey{Seed(0), k + 1, 0}, DrawKey{Seed(0), 0, k + 1}}) {
      Draws(key).uniforms(0, 64, part.data());
      firsts.insert(part[0]);
    }
  }
  EXPECT_GE(firsts.size(), 298U);
}

}  // namespace
}  // namespace shoal
