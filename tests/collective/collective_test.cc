// Collectives are right for any P and size, with inputs coded by rank, and cost exactly their
// formulas.
#include <gtest/gtest.h>

#include <numeric>

#include "collective/dissemination.h"
#include "collective/ring.h"
#include "sim/world.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

Group group_of(Node& node) {
  return {node, GroupId(1), std::make_shared<const View>(node.membership.now())};
}

TEST(Ring, SumsRankCodedInputsForAnyNumberOfMembersAndElements) {
  for (std::uint32_t P = 1; P <= 17; ++P) {
    for (const std::uint64_t n : {0U, 1U, 2U, 15U, 16U, 17U, 1000U}) {
      Cluster cluster = Cluster::uniform(P, {.latency = 1us, .bytes_per_s = 1e9});
      cluster.completion = Completion::BySeed;
      World world(cluster, {.seed = Seed(P * 1000 + n), .fixed_view = true});
      std::uint32_t right = 0;
      const Outcome o = world.run([&](Node& node) -> Task<> {
        Arena data(Elements(n), Substance::Real);
        Arena scratch(Elements(n), Substance::Real);
        const Range range = data.all();
        for (std::uint64_t i = 0; i < n; ++i)
          range.data()[i] = static_cast<float>(node.id.value() + 1) * static_cast<float>(i + 1);
        const Range room = scratch.all().slice(Elements(0), ring_scratch(Elements(n), P));
        co_await ring_all_reduce(group_of(node), range, room, 1);
        // sum over ranks of (r+1)(i+1) = P(P+1)/2 (i+1), exact in float32
        const float ranks = static_cast<float>(P * (P + 1) / 2);
        for (std::uint64_t i = 0; i < n; ++i)
          EXPECT_EQ(range.data()[i], ranks * static_cast<float>(i + 1))
              << "P=" << P << " n=" << n << " rank " << node.id.value() << " at index " << i;
        ++right;
      });
      EXPECT_TRUE(o.finished);
      EXPECT_EQ(right, P);
      EXPECT_EQ(o.messages, std::uint64_t{2} * P * (P - 1));
    }
  }
}

TEST(Ring, CostsItsFormulaInAnIdealNetwork) {
  // 2(n-1)/n T + (n-1)/n R, with n dividing the message: T = 8 ms, R = 4 ms.
  for (const std::uint32_t n : {2U, 4U, 5U, 8U, 10U, 16U, 100U}) {
    const Elements elements(2'000'000);
    Cluster cluster = Cluster::uniform(n, {.latency = 0us, .bytes_per_s = 1e9});
    cluster.ns_per_element[static_cast<std::size_t>(Work::Reduce)] = 2;
    cluster.timing_only = true;
    World world(cluster, {.seed = Seed(n), .fixed_view = true});
    const Outcome o = world.run([&](Node& node) -> Task<> {
      Arena data(elements, Substance::Phantom);
      const Range scratch = data.all().slice(Elements(0), ring_scratch(elements, n));
      co_await ring_all_reduce(group_of(node), data.all(), scratch, 1);
    });
    const double T = 8e-3;
    const double R = 4e-3;
    const double expected = 2.0 * (n - 1) / n * T + 1.0 * (n - 1) / n * R;
    EXPECT_NEAR(seconds(o.end), expected, 1e-3 * expected) << n << " members";
    EXPECT_EQ(o.messages, std::uint64_t{2} * n * (n - 1));
  }
}

TEST(Ring, PaysLatencyOnceARound) {
  // The pipeline formula of SYSTEMS: 2(n-1)(L + mG/n).
  const std::uint32_t n = 8;
  Cluster cluster = Cluster::uniform(n, {.latency = 50us, .bytes_per_s = 1e9});
  cluster.timing_only = true;
  World world(cluster, {.seed = Seed(1), .fixed_view = true});
  const Outcome o = world.run([&](Node& node) -> Task<> {
    Arena data(Elements(2'000'000), Substance::Phantom);
    const Range scratch = data.all().slice(Elements(0), ring_scratch(Elements(2'000'000), n));
    co_await ring_all_reduce(group_of(node), data.all(), scratch, 1);
  });
  EXPECT_EQ(o.end, Time(14 * (50us + 1ms)));
}

TEST(AllGather, EveryBlockReachesEveryMember) {
  for (std::uint32_t P = 1; P <= 17; ++P) {
    World world(Cluster::uniform(P, {.latency = 1us, .bytes_per_s = 1e9}),
                {.seed = Seed(P), .fixed_view = true});
    const Outcome o = world.run([&](Node& node) -> Task<> {
      std::vector<std::uint32_t> blocks(P * 3, 0), room(P * 3, 0);
      for (std::uint32_t k = 0; k < 3; ++k)
        blocks[node.id.value() * 3 + k] = node.id.value() * 10 + k;
      co_await all_gather(group_of(node), std::as_writable_bytes(std::span(blocks)),
                          std::as_writable_bytes(std::span(room)), 1);
      for (std::uint32_t r = 0; r < P; ++r)
        for (std::uint32_t k = 0; k < 3; ++k)
          EXPECT_EQ(blocks[r * 3 + k], r * 10 + k) << "P=" << P << " rank " << node.id.value();
    });
    EXPECT_TRUE(o.finished);
    std::uint64_t rounds = 0;
    while ((1U << rounds) < P) ++rounds;
    EXPECT_EQ(o.messages, P * rounds);
  }
}

TEST(AllGather, EndsNowhereBeforeItHasBegunEverywhere) {
  const std::uint32_t P = 7;
  Time last_begun{};
  std::vector<Time> ended;
  World world(Cluster::uniform(P, {.latency = 1us, .bytes_per_s = 1e9}),
              {.seed = Seed(2), .fixed_view = true});
  world.run([&](Node& node) -> Task<> {
    co_await node.env.sleep(Duration(1ms * node.id.value()));
    last_begun = std::max(last_begun, node.env.now());
    std::vector<std::byte> blocks(P), room(P);
    co_await all_gather(group_of(node), blocks, room, 1);
    ended.push_back(node.env.now());
  });
  ASSERT_EQ(ended.size(), P);
  for (const Time t : ended) EXPECT_GE(t, last_begun);
}

}  // namespace
}  // namespace shoal
