// Every all-reduce is right for any P and size, in every world, and gives all members the same
// bits.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "base/hash.h"
#include "base/random.h"
#include "collective/double_tree.h"
#include "collective/exchange.h"
#include "collective/worlds.h"
#include "support/sample.h"

namespace shoal {
namespace {

constexpr std::uint32_t kMembersMax = 17;

struct Case {
  Exchange exchange;
  WorldKind world;
};

class AllReduce : public testing::TestWithParam<Case> {};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Exchange exchange : kAllReduces)
    for (const WorldKind world : kWorldKinds) all.push_back({exchange, world});
  return all;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name(to_string(info.param.exchange));
  std::erase(name, '-');
  return name + "In" + to_string(info.param.world);
}

INSTANTIATE_TEST_SUITE_P(Worlds, AllReduce, testing::ValuesIn(cases()), name_of);

TEST_P(AllReduce, SumsRankCodedInputsForAnyNumberOfMembersAndElements) {
  const auto [exchange, kind] = GetParam();
  Sample sample;
  for (std::uint32_t P = 1; P <= kMembersMax; ++P) {
    if (!sample.takes_next()) continue;
    std::atomic<std::uint32_t> right = 0;
    run_in(kind, P, [&, exchange = exchange](Node& node) -> Task<> {
      const Group group = group_of(node);
      std::uint64_t operation = 0;
      for (const std::uint64_t n : {0U, 1U, 2U, 15U, 16U, 17U, 1000U, 4099U}) {
        Arena data(node.endpoint, Elements(n), Substance::Real);
        Arena scratch(node.endpoint, Elements(n), Substance::Real);
        const std::span<float> x = data.all().data();
        for (std::uint64_t i = 0; i < n; ++i)
          x[i] = static_cast<float>(node.id.value() + 1) * static_cast<float>(i + 1);
        co_await all_reduce(exchange, group, data.all(), scratch.all(), ++operation);
        // sum over ranks of (r+1)(i+1) = P(P+1)/2 (i+1), exact in float32
        const float ranks = static_cast<float>(P * (P + 1) / 2);
        for (std::uint64_t i = 0; i < n; ++i)
          EXPECT_EQ(x[i], ranks * static_cast<float>(i + 1))
              << "P=" << P << " n=" << n << " rank " << node.id.value() << " at index " << i;
      }
      ++right;
    });
    EXPECT_EQ(right, P);
  }
}

TEST_P(AllReduce, InPiecesLeavesItsInputAloneAndSumsAll) {
  const auto [exchange, kind] = GetParam();
  for (const std::uint32_t P : {1U, 2U, 3U, 4U, 5U}) {
    std::atomic<std::uint32_t> right = 0;
    run_in(kind, P, [&, exchange = exchange](Node& node) -> Task<> {
      const Group group = group_of(node);
      const Elements piece(100);
      std::uint64_t operation = 0;
      for (const std::uint64_t n : {0U, 1U, 100U, 101U, 1003U}) {
        Arena data(node.endpoint, Elements(n), Substance::Real);
        Arena sum(node.endpoint, Elements(n), Substance::Real);
        Arena scratch(node.endpoint, Elements(n), Substance::Real);
        const auto own = static_cast<float>(node.id.value() + 1);
        for (std::uint64_t i = 0; i < n; ++i) data.data()[i] = own * static_cast<float>(i + 1);
        co_await all_reduce_in_pieces(exchange, group, data.all(), sum.all(), scratch.all(),
                                      operation, piece);
        operation += pieces_of(Elements(n), piece);
        const float ranks = static_cast<float>(P * (P + 1) / 2);
        for (std::uint64_t i = 0; i < n; ++i) {
          EXPECT_EQ(sum.data()[i], ranks * static_cast<float>(i + 1)) << n << " at " << i;
          EXPECT_EQ(data.data()[i], own * static_cast<float>(i + 1)) << n << " at " << i;
        }
      }
      ++right;
    });
    EXPECT_EQ(right, P);
  }
}

// Sums of random numbers depend on their order: it must be the same for all members.
TEST_P(AllReduce, LeavesTheSameBitsOnAllMembers) {
  const auto [exchange, kind] = GetParam();
  Sample sample;
  for (const std::uint32_t P : {2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 13U, 16U, 17U}) {
    if (!sample.takes_next()) continue;
    std::mutex mutex;
    std::set<std::uint64_t> results;
    std::size_t count = 0;
    run_in(kind, P, [&, exchange = exchange](Node& node) -> Task<> {
      const Elements n(70'001);  // several chunks
      Arena data(node.endpoint, n, Substance::Real);
      Arena scratch(node.endpoint, n, Substance::Real);
      Random random(Seed(7), Purpose::Test, node.id.value(), 0);
      for (float& x : data.all().data()) x = static_cast<float>(random.normal());
      const Group group = group_of(node);
      co_await all_reduce(exchange, group, data.all(), scratch.all(), 1);
      const std::uint64_t hash = hash_of(std::span<const float>(data.all().data()));
      const std::lock_guard lock(mutex);
      results.insert(hash);
      ++count;
    });
    EXPECT_EQ(count, P);
    EXPECT_EQ(results.size(), 1U) << P << " members";
  }
}

TEST(DoubleTree, EachTreeHasAllMembersAndHardlyAnyoneHasChildrenInBoth) {
  for (std::uint64_t P = 1; P <= 70; ++P) {
    std::uint64_t busy_in_both = 0;
    for (std::uint64_t r = 0; r < P; ++r) {
      bool interior[2] = {false, false};
      for (std::uint64_t half = 0; half < 2; ++half) {
        const TreePlace place = place_in_double_tree(half, r, P);
        interior[half] = place.children.size() > 1;
        EXPECT_LE(place.children.size(), 2U);
        for (const std::uint64_t child : place.children)
          EXPECT_EQ(place_in_double_tree(half, child, P).parent, r) << P << " members";
        // Every member reaches the root in at most ceil(log2 P) steps; the first needs one more.
        std::uint64_t at = r;
        std::uint64_t steps = 0;
        while (const auto parent = place_in_double_tree(half, at, P).parent) {
          at = *parent;
          ++steps;
          ASSERT_LE(steps, std::bit_width(P));
        }
      }
      busy_in_both += interior[0] && interior[1] ? 1 : 0;
    }
    EXPECT_LE(busy_in_both, 1U) << P << " members";
  }
}

TEST(Exchanges, HaveNamesThatAreParsedAndAnUnknownOneIsAnsweredWithTheNearest) {
  for (const Exchange exchange : kAllReduces)
    EXPECT_EQ(parse_exchange(to_string(exchange)), exchange);
  EXPECT_EQ(parse_exchange("auto"), Exchange::Auto);
  try {
    parse_exchange("butterfyl");
    FAIL() << "it was taken";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("butterfly"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace shoal
