// Properties of every codec.
#include "codec/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "codec_cases.h"

namespace shoal {
namespace {

using testing::HasSubstr;

class EveryCodec : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Codec> codec = codec_of(GetParam());
};

std::string test_name(const testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Codecs, EveryCodec, testing::ValuesIn(all_codecs()), test_name);

constexpr std::size_t kSizes[] = {0, 1, 2, 15, 31, 33, 63, 511, 512, 513, 1000, 4096, 100'003};

TEST_P(EveryCodec, WhatIsSentAndTheRestAreTheValues) {
  for (const std::size_t n : kSizes) {
    const std::vector<float> values = normal_numbers(n);
    std::vector<std::byte> bytes(codec->bound(n));
    std::vector<float> rest(n, 7.0F);
    bytes.resize(codec->encode_with_residual({values, values}, rest, bytes, {}));
    const std::vector<float> sent = decoded(*codec, bytes, n);
    for (std::size_t i = 0; i < n; ++i) {
      // One floating-point subtraction: half a unit in the last place of the largest of the three.
      const double whole = std::abs(static_cast<double>(values[i])) + std::abs(sent[i]);
      ASSERT_NEAR(static_cast<double>(sent[i]) + rest[i], values[i], whole * 0x1p-24)
          << n << " " << i;
    }
  }
}

TEST_P(EveryCodec, TheRestMayBeTheMemoryOfTheValues) {
  const std::vector<float> values = normal_numbers(5000);
  std::vector<float> apart(values.size()), in_place = values;
  std::vector<std::byte> a(codec->bound(values.size())), b(a.size());
  a.resize(codec->encode_with_residual({values, values}, apart, a, {}));
  b.resize(codec->encode_with_residual({in_place, in_place}, in_place, b, {}));
  EXPECT_EQ(a, b);
  EXPECT_EQ(apart, in_place);
  EXPECT_EQ(a, encoded(*codec, values)) << "the rest changes nothing of what is sent";
}

TEST_P(EveryCodec, WhatIsCarriedIsAddedBeforeItIsEncoded) {
  for (const std::size_t n : kSizes) {
    const std::vector<float> latest = normal_numbers(n);
    std::vector<float> carried(latest.rbegin(), latest.rend()), sum(n), rest(n, 7.0F);
    for (float& x : carried) x *= 0.25F;
    for (std::size_t i = 0; i < n; ++i) sum[i] = latest[i] + carried[i];
    std::vector<std::byte> a(codec->bound(n)), b(codec->bound(n));
    const DrawKey key{Seed(3), 4, 5};
    a.resize(codec->encode_carried(latest, carried, rest, a, key));
    b.resize(codec->encode_with_residual({sum, latest}, sum, b, key));
    EXPECT_EQ(a, b) << n;
    EXPECT_EQ(rest, sum) << n;
  }
}

TEST_P(EveryCodec, DecodesInPlaceOfWhatWasThere) {
  for (const std::size_t n : kSizes) {
    const std::vector<std::byte> bytes = encoded(*codec, normal_numbers(n));
    std::vector<float> out(n, 7.0F);
    codec->decode(bytes, out);
    EXPECT_EQ(out, decoded(*codec, bytes, n)) << n;
  }
}

TEST_P(EveryCodec, WhatIsCarriedMayNotBeInfinite) {
  const std::vector<float> latest = normal_numbers(1000);
  std::vector<float> carried(latest.size()), rest(latest.size());
  std::vector<std::byte> bytes(codec->bound(latest.size()));
  carried[700] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(codec->encode_carried(latest, carried, rest, bytes, {}), DataError);
}

TEST_P(EveryCodec, EqualKeysGiveEqualBytesAtEveryWidth) {
  for (const std::size_t n : kSizes) {
    const std::vector<float> values = normal_numbers(n);
    const DrawKey key{Seed(3), 4, 5};
    const std::vector<std::byte> bytes = encoded(*codec, values, key);
    EXPECT_EQ(bytes, encoded(*codec, values, key)) << n;
    const auto plain = codec_of(GetParam(), Width::Plain);
    EXPECT_EQ(bytes, encoded(*plain, values, key)) << n;
    EXPECT_EQ(decoded(*codec, bytes, n), decoded(*plain, bytes, n)) << n;
  }
}

TEST_P(EveryCodec, NeverExceedsItsBoundAndMeetsItsExpectation) {
  for (const std::size_t n : kSizes) {
    for (const double deviation : {1e-20, 1.0, 1e20}) {
      const std::vector<float> values = normal_numbers(n, deviation);
      EXPECT_LE(encoded(*codec, values).size(), codec->bound(n)) << n;
    }
  }
  // The size of strom and adacomp depends on the data, and zstd's on how well it compresses.
  const std::string name = GetParam();
  if (name.starts_with("strom") || name.starts_with("adacomp") || name.ends_with("zstd")) return;
  const std::vector<float> values = normal_numbers(100'000);
  const auto size = static_cast<double>(encoded(*codec, values).size());
  const auto expected = static_cast<double>(codec->expected(values.size()));
  EXPECT_NEAR(size, expected, 0.1 * size);
}

TEST_P(EveryCodec, ZerosStayZeros) {
  for (const std::size_t n : kSizes) {
    const std::vector<float> zeros(n);
    const std::vector<float> back = there_and_back(*codec, zeros);
    for (const float x : back) ASSERT_EQ(x, 0) << n;
  }
}

TEST_P(EveryCodec, NoExtremeBecomesInfiniteOrLeavesAnythingOutOfTheRest) {
  std::vector<std::vector<float>> extremes;
  for (const float x : {FLT_TRUE_MIN, 1e-40F, FLT_MIN, 1e-10F, 65504.0F, 65520.0F, 1e5F, 1e38F}) {
    extremes.push_back({x});
    extremes.push_back({-x});
    extremes.push_back(std::vector<float>(700, x));
    extremes.push_back({x, -x, 0, x / 3, 1});
  }
  for (const std::vector<float>& values : extremes) {
    std::vector<std::byte> bytes(codec->bound(values.size()));
    std::vector<float> rest(values.size());
    bytes.resize(codec->encode_with_residual({values, values}, rest, bytes, {}));
    const std::vector<float> sent = decoded(*codec, bytes, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(std::isfinite(sent[i])) << values[0] << " of " << values.size();
      ASSERT_TRUE(std::isfinite(rest[i])) << values[0] << " of " << values.size();
      const double whole = std::abs(static_cast<double>(values[i])) + std::abs(sent[i]);
      ASSERT_NEAR(static_cast<double>(sent[i]) + rest[i], values[i], whole * 0x1p-24 + 1e-45);
    }
  }
}

TEST_P(EveryCodec, NanAndInfinityAreRefusedWithTheirPlace) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t place : {0U, 700U, 1029U}) {
      std::vector<float> values = normal_numbers(1030);
      values[place] = bad;
      std::vector<std::byte> bytes(codec->bound(values.size()));
      std::vector<float> rest(values.size());
      try {
        codec->encode_with_residual({values, values}, rest, bytes, {});
        FAIL() << bad << " at " << place << " went through";
      } catch (const DataError& e) {
        EXPECT_THAT(e.what(), HasSubstr("element " + std::to_string(place) + " of 1030"));
      }
      EXPECT_THROW(codec->encode({values, values}, bytes, {}), DataError);
    }
  }
}

TEST_P(EveryCodec, DecodingAddsScaled) {
  const std::vector<float> values = normal_numbers(1500);
  const std::vector<std::byte> bytes = encoded(*codec, values);
  const std::vector<float> once = decoded(*codec, bytes, values.size());
  std::vector<float> sum(values.size(), 1.0F);
  codec->decode_add(bytes, sum, -2);
  for (std::size_t i = 0; i < sum.size(); ++i)
    ASSERT_NEAR(sum[i], 1 - 2 * once[i], 1e-6 * (1 + std::abs(once[i]))) << i;
}

void decode_a_list(const Codec& codec) {
  SparseList list;
  const std::vector<std::byte> bytes = encoded(codec, normal_numbers(10));
  codec.decode_list(bytes, 10, list);
}

TEST_P(EveryCodec, ListsHoldWhatIsDecoded) {
  if (!codec->sparse()) {
    EXPECT_DEATH(decode_a_list(*codec), "sparse\\(\\)");
    return;
  }
  const std::vector<float> values = normal_numbers(5000);
  const std::vector<std::byte> bytes = encoded(*codec, values);
  SparseList list{{1, 2}, {3, 4}};
  codec->decode_list(bytes, values.size(), list);
  ASSERT_EQ(list.at.size(), list.value.size());
  std::vector<float> sum(values.size());
  for (std::size_t j = 0; j < list.at.size(); ++j) {
    ASSERT_TRUE(j == 0 || list.at[j - 1] < list.at[j]);
    sum.at(list.at[j]) = list.value[j];
  }
  EXPECT_EQ(sum, decoded(*codec, bytes, values.size()));
}

TEST_P(EveryCodec, FormsThatCanBeAddedUpDecodeToTheSum) {
  if (!codec->summable()) {
    EXPECT_DEATH(codec->add_encoded({}, {}), "summable\\(\\)");
    return;
  }
  const std::vector<float> x = normal_numbers(5000, 1, 1), y = normal_numbers(5000, 1, 2);
  std::vector<std::byte> sum = encoded(*codec, x);
  codec->add_encoded(sum, encoded(*codec, y));
  std::vector<float> both = there_and_back(*codec, x);
  codec->decode_add(encoded(*codec, y), both);
  EXPECT_EQ(decoded(*codec, sum, x.size()), both);
  EXPECT_THROW(codec->add_encoded(sum, std::span(sum).first(sum.size() - 4)), Corrupt);
}

// Malformed bytes of every kind: truncated, too long, changed anywhere. Nothing outside the sum may
// change.
TEST_P(EveryCodec, MalformedBytesAreCorruptAndHarmNothing) {
  constexpr std::size_t kFence = 64;
  Random random(Seed(9), Purpose::Test);
  for (const std::size_t n : {0U, 1U, 33U, 700U, 1300U}) {
    const std::vector<float> values = normal_numbers(n, 3);
    const std::vector<std::byte> sound = encoded(*codec, values);
    std::vector<float> memory(n + 2 * kFence, 5.0F);
    const std::span<float> sum = std::span(memory).subspan(kFence, n);
    for (int i = 0; i < 400; ++i) {
      std::vector<std::byte> bytes = sound;
      if (random.chance(0.3)) bytes.resize(random.below(2 * sound.size() + 8));
      for (std::uint64_t k = random.below(4); k > 0 && !bytes.empty(); --k)
        bytes[random.below(bytes.size())] = static_cast<std::byte>(random.bits());
      try {
        codec->decode_add(bytes, sum, 0);
      } catch (const Corrupt& e) {
        ASSERT_STRNE(e.what(), "");
      }
      for (std::size_t j = 0; j < kFence; ++j) {
        ASSERT_EQ(memory[j], 5.0F);
        ASSERT_EQ(memory[kFence + n + j], 5.0F);
      }
    }
    std::vector<std::byte> longer = sound;
    longer.push_back(std::byte{1});
    EXPECT_THROW(codec->decode_add(longer, sum), Corrupt) << n;
    if (sound.empty()) continue;
    EXPECT_THROW(codec->decode_add(std::span(sound).first(sound.size() - 1), sum), Corrupt) << n;
  }
}

}  // namespace
}  // namespace shoal
