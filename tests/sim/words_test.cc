#include "sim/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Words, ALinkHasARateAndALatency) {
  const LinkModel fast = parse_link("--network", "10gbit:20us");
  EXPECT_DOUBLE_EQ(fast.bytes_per_s, 1.25e9);
  EXPECT_EQ(fast.latency, 20us);
  EXPECT_DOUBLE_EQ(parse_link("--network", "2.5mbit:1.5ms").bytes_per_s, 2.5e6 / 8);
  EXPECT_EQ(parse_link("--network", "0gbit:0s").transmit(Bytes(1 << 30)), Duration(0));
}

TEST(Words, ALinkWithoutOneOfThemIsRefusedWithTheForm) {
  const auto refused = [](const char* text) {
    return refusal([&] { parse_link("--network", text); });
  };
  EXPECT_THAT(refused("10gbit"), AllOf(HasSubstr("--network 10gbit"), HasSubstr("10gbit:20us")));
  EXPECT_THAT(refused("10gbti:20us"), HasSubstr("'gbit'"));
  EXPECT_THAT(refused("fast:20us"), HasSubstr("number"));
  EXPECT_THAT(refused("10gbit:-20us"), HasSubstr("less than 0"));
  EXPECT_THAT(refused("10gbit:20us:5"), HasSubstr("is not a unit"));
}

TEST(Words, StragglersAreForAllNodesOrOne) {
  const auto all = parse_stragglers("jitter:0.2,constant:2x@1", 3);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].kind, Straggler::Kind::Jitter);
  EXPECT_EQ(all[0].factor, 0.2);
  EXPECT_EQ(all[1].kind, Straggler::Kind::Constant);
  EXPECT_EQ(all[1].factor, 2);
  EXPECT_EQ(parse_stragglers("pareto:1.5", 2)[1].kind, Straggler::Kind::HeavyTail);
  EXPECT_EQ(parse_stragglers("exponential:1", 2)[0].kind, Straggler::Kind::Exponential);
  EXPECT_EQ(parse_stragglers("none", 2)[1].kind, Straggler::Kind::None);
}

TEST(Words, StragglersThatCannotBeAreRefused) {
  const auto refused = [](const char* text) { return refusal([&] { parse_stragglers(text, 3); }); };
  EXPECT_THAT(refused("konstant:2"), HasSubstr("'constant'"));
  EXPECT_THAT(refused("constant:2@3"), HasSubstr("there is no node 3; they are 0 to 2"));
  EXPECT_THAT(refused("constant:0"), HasSubstr("less than"));
  EXPECT_THAT(refused("jitter"), HasSubstr("':' is missing"));
  EXPECT_THAT(refused("jitter:0.1,"), HasSubstr("is not known"));
}

TEST(Words, FaultsHaveAKindANodeATimeAndMore) {
  const FaultPlan plan =
      parse_faults("freeze:1@2s+500ms,crash:2@1.5s+1s,cut:0>2@3s+1s,slow:1@4s+1sx4", 3);
  ASSERT_EQ(plan.faults.size(), 4U);
  EXPECT_EQ(plan.heal_at, Time{});
  const Fault& crash = plan.faults[0];  // the earliest comes first
  EXPECT_EQ(crash.kind, FaultKind::Kill);
  EXPECT_EQ(crash.node, NodeId(2));
  EXPECT_EQ(crash.at, Time(1500ms));
  EXPECT_EQ(crash.lasting, 1s);
  EXPECT_EQ(plan.faults[2].peer, NodeId(2));
  EXPECT_EQ(plan.faults[3].factor, 4);
  EXPECT_EQ(parse_faults("crash:0@1s", 1).faults[0].lasting, Duration(0));
  EXPECT_TRUE(parse_faults("none", 3).faults.empty());
}

TEST(Words, FaultsOfASeedAreThoseOfTheSwarm) {
  Random random(Seed(7), Purpose::Recipe);
  const FaultPlan drawn = draw_faults(random, 4, 10s);
  const FaultPlan plan = parse_faults("seed:7@10s", 4);
  EXPECT_EQ(plan.heal_at, Time(10s));
  ASSERT_EQ(plan.faults.size(), drawn.faults.size());
  for (std::size_t i = 0; i < drawn.faults.size(); ++i)
    EXPECT_EQ(describe(plan.faults[i]), describe(drawn.faults[i]));
}

TEST(Words, FaultsThatCannotBeAreRefused) {
  const auto refused = [](const char* text) { return refusal([&] { parse_faults(text, 3); }); };
  EXPECT_THAT(refused("crahs:2@3s"), HasSubstr("'crash'"));
  EXPECT_THAT(refused("crash:5@3s"), HasSubstr("there is no node 5"));
  EXPECT_THAT(refused("crash:1"), HasSubstr("'@' is missing"));
  EXPECT_THAT(refused("crash:1@3s+1s+1s"), HasSubstr("is not a unit"));
  EXPECT_THAT(refused("freeze:1@3s"), HasSubstr("needs a duration"));
  EXPECT_THAT(refused("slow:1@3s+1s"), HasSubstr("'x' is missing"));
  EXPECT_THAT(refused("cut:1>1@3s+1s"), HasSubstr("no link to itself"));
  EXPECT_THAT(refused("crash:1@3"), HasSubstr("a unit is missing after 3"));
  EXPECT_THAT(refused("seed:1.5"), HasSubstr("a seed is an integer"));
}

}  // namespace
}  // namespace shoal
