#include "ps/factored.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"

namespace shoal {
namespace {

std::shared_ptr<const float> numbers(std::uint64_t n, std::uint64_t which) {
  Random random(Seed(1), Purpose::Test, which);
  auto all = std::make_shared<std::vector<float>>(n);
  for (float& x : *all) x = static_cast<float>(random.normal());
  return {all, all->data()};
}

// 100 numbers, a weight of 40 x 30, 7 numbers, a weight of 20 x 25, 3 numbers.
class FactoredTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kBatch = 4, kAll = 100 + 1200 + 7 + 500 + 3;

  FactoredTest() : g(kAll) {
    Random random(Seed(2), Purpose::Test);
    for (float& x : g) x = static_cast<float>(random.normal());
    layers = {{Elements(100), factors(40, 30, 1)}, {Elements(1307), factors(20, 25, 3)}};
    for (const Layer& layer : layers)
      for (std::uint64_t r = 0; r < layer.factors.rows.value(); ++r)
        for (std::uint64_t c = 0; c < layer.factors.columns.value(); ++c) {
          float& sum = g[layer.at.value() + r * layer.factors.columns.value() + c];
          sum = 0;
          for (std::uint64_t b = 0; b < kBatch; ++b)
            sum += layer.factors.error.get()[b * layer.factors.rows.value() + r] *
                   layer.factors.input.get()[b * layer.factors.columns.value() + c];
        }
  }
  static Factors factors(std::uint64_t rows, std::uint64_t columns, std::uint64_t which) {
    return {Elements(kBatch), Elements(rows), Elements(columns), numbers(kBatch * rows, which),
            numbers(kBatch * columns, which + 1)};
  }

  std::vector<float> g;
  std::vector<Layer> layers;
};

TEST_F(FactoredTest, EveryShardFormsTheGradientThatWasPacked) {
  for (const std::size_t shards : {1, 2, 3, 7, 40}) {
    std::size_t sent = 0;
    for (const ShardCut& cut : cut_shards(Elements(kAll), shards)) {
      const std::vector<float> packed = pack(cut, g, layers);
      sent += packed.size();
      ASSERT_LE(packed.size(), packed_most(cut, layers.size()).value());
      const Packed there(cut, packed);
      std::vector<float> formed(cut.n.value(), -1);
      // In slices, as the server forms it.
      for (std::size_t from = 0; from < formed.size(); from += 33)
        there.form(from, std::min(formed.size(), from + 33), formed);
      for (std::size_t i = 0; i < formed.size(); ++i)
        ASSERT_NEAR(formed[i], g[cut.at.value() + i], 1e-5) << shards << " shards, element " << i;
    }
    if (shards == 1) {
      EXPECT_EQ(sent, 110 + kBatch * (40 + 30 + 20 + 25) + 5 * 10) << "B (M + N') of each weight";
    }
  }
}

TEST_F(FactoredTest, WhereFactorsAreNotLessTheGradientGoesAsItIs) {
  for (Layer& layer : layers) layer.factors.batch = Elements(1000);
  const ShardCut all = cut_shards(Elements(kAll), 1)[0];
  const std::vector<float> packed = pack(all, g, layers);
  const Packed there(all, packed);
  std::vector<float> formed(kAll);
  there.form(0, kAll, formed);
  EXPECT_EQ(formed, g);
}

TEST_F(FactoredTest, WhatIsNoGradientOfTheShardIsRefused) {
  const ShardCut all = cut_shards(Elements(kAll), 1)[0];
  const std::vector<float> packed = pack(all, g, layers);
  for (std::size_t n = 0; n < packed.size(); ++n)
    EXPECT_THROW(Packed(all, std::span(packed).first(n)), Corrupt) << n;
  std::vector<float> longer = packed;
  longer.push_back(1);
  EXPECT_THROW(Packed(all, longer), Corrupt);
  // Any word of a head may be wrong: the message is refused or read as another gradient, without
  // harm.
  Random random(Seed(3), Purpose::Test);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<float> wrong = packed;
    const std::uint64_t bits = random.bits();
    std::memcpy(wrong.data() + random.below(wrong.size() - 2), &bits, sizeof bits);
    try {
      const Packed there(all, wrong);
      std::vector<float> formed(kAll);
      there.form(0, kAll, formed);
    } catch (const Corrupt&) {
    }
  }
}

}  // namespace
}  // namespace shoal
