#include "ps/pushed_part.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"

namespace shoal {
namespace {

class PartTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kAll = 1000;
  const ShardCut cut{Elements(64), Elements(kAll)};
  Random random{Seed(4), Purpose::Test};

  Keys draw(std::size_t count, std::uint32_t number) {
    Keys keys{number, {}};
    for (std::uint32_t i = 0; i < kAll; ++i)
      if (random.below(kAll - i) < count - keys.at.size()) keys.at.push_back(i);
    return keys;
  }
  std::vector<float> draw_values(std::size_t count) {
    std::vector<float> values(count);
    for (float& v : values) v = static_cast<float>(random.normal());
    return values;
  }
  static std::vector<float> scattered(const Keys& keys, const std::vector<float>& values) {
    std::vector<float> g(kAll, 0.0F);
    for (std::size_t i = 0; i < keys.at.size(); ++i) g[keys.at[i]] = values[i];
    return g;
  }
  std::vector<float> formed(std::span<const std::uint32_t> words, Keys& last) const {
    const PushedPart part(cut, words, last);
    EXPECT_TRUE(part.has_keys());
    std::vector<float> g(kAll, -1);
    for (std::size_t from = 0; from < kAll; from += 33)
      part.form(from, std::min<std::size_t>(kAll, from + 33), g);
    return g;
  }
};

TEST_F(PartTest, WhatWasPackedIsFormedBitForBit) {
  for (const bool compress : {false, true})
    for (const std::size_t count : {0, 1, 17, 499, 500, 999, 1000}) {
      const Keys keys = draw(count, 1);
      const std::vector<float> values = draw_values(count);
      Keys last;
      const auto words = pack_part(cut, keys, values, {.known = false, .compress = compress});
      EXPECT_LE(words.size(), kPartHeadWords + kAll);
      EXPECT_EQ(formed(words, last), scattered(keys, values)) << count;
    }
}

TEST_F(PartTest, KnownKeysAreNotSentAgain) {
  const Keys keys = draw(200, 7);
  const std::vector<float> first = draw_values(200), second = draw_values(200);
  Keys last;
  const auto listed = pack_part(cut, keys, first, {});
  EXPECT_EQ(listed.size(), kPartHeadWords + 400);
  formed(listed, last);
  const auto known = pack_part(cut, keys, second, {.known = true});
  EXPECT_EQ(known.size(), kPartHeadWords + 200);
  EXPECT_EQ(formed(known, last), scattered(keys, second));
}

TEST_F(PartTest, WhoDoesNotHaveTheKeysSaysSo) {
  const Keys keys = draw(200, 7);
  const auto known = pack_part(cut, keys, draw_values(200), {.known = true});
  Keys none, other = draw(200, 6);
  EXPECT_FALSE(PushedPart(cut, known, none).has_keys());
  EXPECT_FALSE(PushedPart(cut, known, other).has_keys());
}

TEST_F(PartTest, CompressionMakesItSmallerWhereThereIsSomethingToGain) {
  Keys keys{1, {}};
  for (std::uint32_t i = 0; i < 900; ++i) keys.at.push_back(i);
  const std::vector<float> alike(900, 0.25F);
  const auto plain = pack_part(cut, keys, alike, {});
  const auto less = pack_part(cut, keys, alike, {.known = false, .compress = true});
  EXPECT_LT(less.size() * 10, plain.size());
  Keys last;
  EXPECT_EQ(formed(less, last), scattered(keys, alike));
}

TEST_F(PartTest, WhatIsNoPartOfTheShardIsRefused) {
  const Keys keys = draw(100, 1);
  for (const bool compress : {false, true}) {
    const auto words =
        pack_part(cut, keys, draw_values(100), {.known = false, .compress = compress});
    for (std::size_t n = 0; n < words.size(); ++n) {
      Keys last;
      EXPECT_THROW(PushedPart(cut, std::span(words).first(n), last), Corrupt) << n;
    }
    // Any word may be wrong: the message is refused or read as another gradient, without harm.
    for (int i = 0; i < 20'000; ++i) {
      std::vector<std::uint32_t> wrong = words;
      wrong[random.below(i % 2 == 0 ? kPartHeadWords : wrong.size())] =
          static_cast<std::uint32_t>(i % 3 == 0 ? random.below(2048) : random.bits());
      Keys last;
      try {
        const PushedPart there(cut, wrong, last);
        std::vector<float> g(kAll);
        if (there.has_keys()) there.form(0, kAll, g);
      } catch (const Corrupt&) {
      }
    }
  }
  Keys last;
  EXPECT_THROW(PushedPart(cut, pack_part(cut, {1, {3, 3}}, draw_values(2), {}), last), Corrupt);
  EXPECT_THROW(PushedPart(cut, pack_part(cut, {1, {3, 1000}}, draw_values(2), {}), last), Corrupt);
}

}  // namespace
}  // namespace shoal
