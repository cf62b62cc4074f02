// Deterministic codecs that send a value for every element.
#include <gtest/gtest.h>

#include <cfloat>

#include "codec/flexpoint_exponent.h"
#include "codec_cases.h"

namespace shoal {
namespace {

// The nearest multiple of 2^-24 with 11 bits, following the definition of binary16.
double nearest_fp16(double x) {
  int power = 0;
  std::frexp(x, &power);
  const double step = std::ldexp(1.0, std::max(power - 11, -24));
  return std::clamp(std::nearbyint(x / step) * step, -65504.0, 65504.0);
}

TEST(Half, Fp16IsTheNearestOfItsNumbersTiesToEven) {
  const auto codec = codec_of("fp16");
  std::vector<float> values = normal_numbers(20'000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::ldexp(values[i], static_cast<int>(i % 45) - 30);
  for (const float x : {0x1.002p0F, 0x1.006p0F, 0x1p-25F, 0x1.8p-24F, 0x1p-26F, 65519.0F, 65520.0F,
                        1e38F, 0x1.ffcp-15F, 0x1.ffep-15F, 0x1p-14F, 2047.5F, 2048.5F})
    values.insert(values.end(), {x, -x});
  const std::vector<float> back = there_and_back(*codec, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(static_cast<double>(back[i]), nearest_fp16(values[i])) << values[i];
    if (std::abs(values[i]) >= 0x1p-14F && std::abs(values[i]) <= 65504) {
      ASSERT_LE(std::abs(back[i] - values[i]), 0x1p-11F * std::abs(values[i]));
    }
  }
}

TEST(Half, EveryFp16NumberComesBackAsItWas) {
  const auto codec = codec_of("fp16");
  for (std::uint32_t h = 0; h < 0x7c00U; ++h) {
    std::vector<std::byte> bytes(2);
    std::memcpy(bytes.data(), &h, 2);
    const std::vector<float> value = decoded(*codec, bytes, 1);
    const int exponent = static_cast<int>(h >> 10U);
    const double mantissa = (h & 0x3ffU) + (exponent > 0 ? 1024 : 0);
    ASSERT_EQ(value[0], std::ldexp(mantissa, std::max(exponent, 1) - 25));
    ASSERT_EQ(encoded(*codec, value), bytes) << h;
  }
}

TEST(Half, Bf16IsWithinItsRelativeErrorAndSaturates) {
  const auto codec = codec_of("bf16");
  std::vector<float> values = normal_numbers(20'000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::ldexp(values[i], static_cast<int>(i % 240) - 120);
  const std::vector<float> back = there_and_back(*codec, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float x = values[i];
    if (std::abs(x) >= FLT_MIN) {
      ASSERT_LE(std::abs(back[i] - x), 0x1p-8F * std::abs(x)) << x;
    }
  }
  const std::vector<float> ties = {0x1.01p0F, 0x1.03p0F, FLT_MAX, -FLT_MAX};
  EXPECT_EQ(there_and_back(*codec, ties),
            (std::vector<float>{0x1p0F, 0x1.04p0F, 0x1.fep127F, -0x1.fep127F}));
}

TEST(Flexpoint, IsWithinHalfAStepOfAnExponentThatJustHolds) {
  const auto codec = codec_of("flexpoint");
  for (const double deviation : {1e-42, 1e-30, 1e-3, 1.0, 1e30, 5e37}) {
    const std::vector<float> values = normal_numbers(5000, deviation);
    float largest = 0;
    for (const float x : values) largest = std::max(largest, std::abs(x));
    const double step = std::ldexp(1.0, flexpoint_exponent(largest));
    EXPECT_LE(largest / step, 32767.5);
    if (step > 0x1p-149) {
      EXPECT_GT(largest / step, 16383) << deviation;
    }
    const std::vector<float> back = there_and_back(*codec, values);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_LE(std::abs(static_cast<double>(back[i]) - values[i]), step / 2) << deviation;
  }
  EXPECT_EQ(flexpoint_exponent(32767.0F), 0);
  EXPECT_EQ(flexpoint_exponent(32767.5F), 1) << "would be rounded to what does not fit";
}

TEST(Flexpoint, HistoryLeavesRoomForTwiceWhatItSaw) {
  ExponentHistory history;
  EXPECT_FALSE(history.predict());
  history.saw(1.0F, 0);
  EXPECT_EQ(history.predict(), flexpoint_exponent(2.0F));
  for (int i = 0; i < 20; ++i) history.saw(0.25F, -13);
  EXPECT_EQ(history.predict(), flexpoint_exponent(0.5F)) << "the first was forgotten";
  for (int i = 0; i < 16; ++i) history.saw(i % 2 == 0 ? 1.0F : 3.0F, -10);
  EXPECT_EQ(history.predict(), flexpoint_exponent(10.0F)) << "mean 2, deviation 1: twice 5";
  history.saw(100.0F, -10);
  EXPECT_EQ(history.predict(), flexpoint_exponent(200.0F)) << "after an overflow only that counts";
}

TEST(Flexpoint, AnExponentFromOutsideSaturatesAndTellsTheLargest) {
  const std::vector<float> values = {1.0F, -1e6F, 0.5F, 32767.0F};
  std::vector<std::byte> bytes(10);
  EXPECT_EQ(flexpoint_encode(values, 0, bytes), 1e6F);
  EXPECT_EQ(decoded(*codec_of("flexpoint"), bytes, 4),
            (std::vector<float>{1.0F, -32767.0F, 0.0F, 32767.0F}));
}

TEST(Onebit, SendsTheMeanOfEitherSignByBlocks) {
  std::vector<float> values(600);
  for (std::size_t i = 0; i < 512; ++i) values[i] = i % 4 == 0 ? -3.0F : (i % 4 == 1 ? 1.0F : 2.5F);
  for (std::size_t i = 512; i < 600; ++i) values[i] = i % 2 == 0 ? 10.0F : -20.0F;
  const std::vector<float> back = there_and_back(*codec_of("onebit"), values);
  for (std::size_t i = 0; i < 600; ++i) {
    const float mean = i < 512 ? (values[i] < 0 ? -3.0F : 2.0F) : values[i];
    ASSERT_FLOAT_EQ(back[i], mean) << i;
  }
}

TEST(Onebit, TakesTheBitsThatItSays) {
  EXPECT_EQ(codec_of("onebit")->bound(512), 72U);
  EXPECT_EQ(codec_of("onebit")->bound(513), 72U + 12U);
  EXPECT_EQ(codec_of("twobit")->bound(1024), 256U);
}

TEST(Twobit, SendsThetaOnceItIsReachedAndKeepsTheRest) {
  const auto codec = codec_of("twobit:0.5");
  const std::vector<float> values = {0.5F, -0.5F, 0.49F, -0.49F, 1.75F, -2.0F, 0.0F, -0.0F};
  EXPECT_EQ(there_and_back(*codec, values),
            (std::vector<float>{0.5F, -0.5F, 0, 0, 0.5F, -0.5F, 0, 0}));
  // A value far above theta is sent in as many steps as it takes.
  std::vector<float> rest = {1.75F};
  std::vector<std::byte> bytes(codec->bound(1));
  std::vector<float> sum(1);
  for (int i = 0; i < 5; ++i) {
    codec->encode_with_residual({rest, rest}, rest, bytes, {});
    codec->decode_add(bytes, sum);
  }
  EXPECT_EQ(sum[0], 1.5F);
  EXPECT_EQ(rest[0], 0.25F);
}

}  // namespace
}  // namespace shoal
