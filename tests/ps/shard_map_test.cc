#include "ps/shard_map.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shoal {
namespace {

View view_of(const std::vector<Member>& members, std::uint32_t generation = 1) {
  return View{Generation(generation), members, Ending::No};
}
Member member(std::uint32_t node, Role role, std::uint32_t life = 1) {
  return {NodeId(node), role, node, HostId(node), Incarnation(life)};
}
Holder holder(std::uint32_t node, std::uint32_t life = 1) {
  return {NodeId(node), Incarnation(life)};
}
// It has shard 0, and has heard of this chain.
Holding has(const Holder& who, const std::vector<Holder>& chain) {
  Holding h;
  h.who = who;
  for (const Holder& one : chain) h.chain.holders[h.chain.n++] = one;
  return h;
}
std::vector<Holder> chain_of(const ShardDirectory& d, std::size_t shard) {
  const auto all = d.shards[shard].chain.all();
  return {all.begin(), all.end()};
}

TEST(ShardMap, CutsCoverEverythingOnceInCacheLines) {
  for (const std::uint64_t N : {0, 1, 15, 16, 17, 1000, 123457})
    for (std::size_t S = 1; S <= 9; ++S) {
      const std::vector<ShardCut> cuts = cut_shards(Elements(N), S);
      ASSERT_EQ(cuts.size(), S);
      std::uint64_t end = 0;
      for (const ShardCut& cut : cuts) {
        EXPECT_EQ(cut.at.value(), end);
        EXPECT_TRUE(cut.n == Elements(0) || end % 16 == 0);
        end += cut.n.value();
        EXPECT_LE(cut.n, cuts[0].n);
      }
      EXPECT_EQ(end, N);
      EXPECT_TRUE(N < 16 * S || cuts[0].n.value() - cuts.back().n.value() < 32U);
    }
}

TEST(ShardMap, ServersServeAndWhereThereAreNoneWorkersDo) {
  const View both = view_of({member(0, Role::Worker), member(1, Role::Server)});
  EXPECT_EQ(servers_of(both), std::vector{holder(1)});
  const View workers = view_of({member(0, Role::Worker), member(2, Role::Worker)});
  EXPECT_EQ(servers_of(workers), (std::vector{holder(0), holder(2)}));
}

TEST(ShardMap, ShardsThatNobodyHasAreSpreadAndFresh) {
  const View view =
      view_of({member(0, Role::Server), member(1, Role::Server), member(2, Role::Server)});
  const ShardDirectory d = assign(view, {}, 3, 2);
  EXPECT_EQ(chain_of(d, 0), (std::vector{holder(0), holder(1)}));
  EXPECT_EQ(chain_of(d, 1), (std::vector{holder(1), holder(2)}));
  EXPECT_EQ(chain_of(d, 2), (std::vector{holder(2), holder(0)}));
  for (const auto& place : d.shards) EXPECT_EQ(place.fresh, 1U);
}

TEST(ShardMap, WithoutItsHeadAShardIsServedByTheNextInItsChain) {
  const View view = view_of({member(1, Role::Server), member(2, Role::Server)}, 2);
  const std::vector told{has(holder(2), {holder(0), holder(2)})};
  const ShardDirectory d = assign(view, told, 1, 2);
  EXPECT_EQ(chain_of(d, 0), (std::vector{holder(2), holder(1)}));
  EXPECT_EQ(d.shards[0].fresh, 0U);
}

TEST(ShardMap, OfTwoHoldersTheOneThatCameFirstStaysFirst) {
  // Node 3 came last, and has heard of 1 and 2; node 2 has not heard of it yet.
  const View view = view_of({member(2, Role::Server), member(3, Role::Server)}, 7);
  std::vector<Holding> told{has(holder(2), {holder(1), holder(2)}),
                            has(holder(3), {holder(1), holder(2), holder(3)})};
  for (int order = 0; order < 2; ++order) {
    EXPECT_EQ(chain_of(assign(view, told, 1, 3), 0), (std::vector{holder(2), holder(3)}));
    std::ranges::reverse(told);
  }
  // The other way round in the order of nodes.
  told = {has(holder(2), {holder(1), holder(3), holder(2)}),
          has(holder(3), {holder(1), holder(3)})};
  EXPECT_EQ(chain_of(assign(view, told, 1, 3), 0), (std::vector{holder(3), holder(2)}));
}

TEST(ShardMap, AnotherLifeOfAHolderHasNothing) {
  const View view = view_of({member(0, Role::Server, 2), member(1, Role::Server)}, 3);
  const std::vector told{has(holder(1), {holder(0), holder(1)})};
  EXPECT_EQ(chain_of(assign(view, told, 1, 2), 0), (std::vector{holder(1), holder(0, 2)}));
}

TEST(ShardMap, AChainKnowsWhoIsBeforeAndAfter) {
  const Chain chain = has(holder(4), {holder(4), holder(5), holder(6)}).chain;
  EXPECT_EQ(chain.before(holder(4)), nullptr);
  EXPECT_EQ(*chain.before(holder(6)), holder(5));
  EXPECT_EQ(*chain.after(holder(4)), holder(5));
  EXPECT_EQ(chain.after(holder(6)), nullptr);
  EXPECT_EQ(chain.after(holder(4, 2)), nullptr);
}

}  // namespace
}  // namespace shoal
