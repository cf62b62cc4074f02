#include "base/types.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace shoal {
namespace {

using namespace std::chrono_literals;

TEST(Types, IdsOfDifferentThingsDoNotMix) {
  static_assert(!std::is_convertible_v<NodeId, Rank>);
  static_assert(!std::is_constructible_v<NodeId, Rank>);
  static_assert(!std::is_convertible_v<std::uint32_t, NodeId>);
  static_assert(!std::is_convertible_v<NodeId, std::uint32_t>);
  static_assert(!std::is_assignable_v<Bytes&, Elements>);
  static_assert(!std::equality_comparable_with<Incarnation, Generation>);
  EXPECT_EQ(sizeof(NodeId), 4U);
  EXPECT_EQ(sizeof(GroupId), 2U);
}

TEST(Types, IdsCompareAndCountUp) {
  EXPECT_LT(NodeId(2), NodeId(10));
  EXPECT_EQ(Generation(4).next(), Generation(5));
  EXPECT_EQ(Generation(), Generation(0));
  EXPECT_EQ(GroupId(0xffff).next(), GroupId(0)) << "the representation decides where it wraps";
}

TEST(Types, QuantitiesAddAndScale) {
  Bytes total(100);
  total += Bytes(28);
  total -= Bytes(8);
  EXPECT_EQ(total, Bytes(120));
  EXPECT_EQ(total * 3, Bytes(360));
  EXPECT_EQ(3 * total, Bytes(360));
  EXPECT_EQ(total / 7, Bytes(17));
  EXPECT_EQ(total / Bytes(50), 2U) << "how many times one fits into the other";
  EXPECT_EQ(total + Bytes(1) - Bytes(2), Bytes(119));
  Step step(41);
  EXPECT_EQ(++step, Step(42));
  EXPECT_LT(Step(9), Step(10));
}

TEST(Types, SizesBeyondFourGigabytesAreKept) {
  const Bytes size(std::uint64_t{5} << 32U);
  EXPECT_EQ((size + Bytes(1)).value(), (std::uint64_t{5} << 32U) + 1);
}

TEST(Types, FormatAsTheirNumber) {
  EXPECT_EQ(fmt::format("node {} has {} bytes in group {}", NodeId(7), Bytes(12), GroupId(3)),
            "node 7 has 12 bytes in group 3");
  EXPECT_EQ(fmt::format("{}", kNobody), "4294967295");
}

TEST(Types, IdsAreKeysOfHashTables) {
  const std::unordered_set<NodeId> nodes{NodeId(1), NodeId(2), NodeId(1)};
  EXPECT_EQ(nodes.size(), 2U);
  EXPECT_TRUE(nodes.contains(NodeId(2)));
  EXPECT_FALSE(nodes.contains(NodeId(3)));
}

TEST(Types, SecondsRoundToTheNearestNanosecond) {
  EXPECT_EQ(from_seconds(0.1), 100ms);
  EXPECT_EQ(from_seconds(1e-9), 1ns);
  EXPECT_EQ(from_seconds(0.4e-9), 0ns);
  EXPECT_EQ(from_seconds(0.6e-9), 1ns);
  EXPECT_EQ(from_seconds(-0.1), -100ms);
  EXPECT_EQ(from_seconds(-0.6e-9), -1ns);
  EXPECT_DOUBLE_EQ(seconds(1500ms), 1.5);
  EXPECT_DOUBLE_EQ(seconds(Time(2s)), 2.0);
  EXPECT_EQ(from_seconds(seconds(123'456'789ns)), 123'456'789ns);
}

}  // namespace
}  // namespace shoal
