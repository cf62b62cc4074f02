// The collectives other than all-reduce are right for any P, in every world.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "collective/all_to_all.h"
#include "collective/direct.h"
#include "collective/dissemination.h"
#include "collective/neighbours.h"
#include "collective/ring.h"
#include "collective/tree.h"
#include "collective/worlds.h"
#include "support/sample.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

class Parts : public testing::TestWithParam<WorldKind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, Parts, testing::ValuesIn(kWorldKinds),
                         [](const auto& kind) { return to_string(kind.param); });

constexpr std::uint64_t kSizes[] = {0, 1, 2, 15, 16, 17, 1000};

// Element i of the input of member r.
float coded(std::uint64_t r, std::uint64_t i) {
  return static_cast<float>(r + 1) * static_cast<float>(i + 1);
}
float coded_sum(std::uint64_t P, std::uint64_t i) {
  return static_cast<float>(P * (P + 1) / 2) * static_cast<float>(i + 1);
}
void fill(Range range, std::uint64_t r) {
  for (std::uint64_t i = 0; i < range.n.value(); ++i) range.data()[i] = coded(r, i);
}
std::string place(std::uint64_t P, Elements n, const Node& node) {
  return fmt::format("{} members, {} elements, rank {}", P, n, node.id);
}

struct Buffers {
  Buffers(Node& node, std::uint64_t n)
      : data(node.endpoint, Elements(n), Substance::Real),
        other(node.endpoint, Elements(n), Substance::Real) {}
  Arena data;
  Arena other;
};

// Runs `body(node, P, n, operation)` for all P and sizes.
template <class Body>
void for_all(WorldKind kind, const Body& body) {
  Sample sample;
  for (std::uint32_t P = 1; P <= 17; ++P) {
    if (!sample.takes_next()) continue;
    std::atomic<std::uint32_t> done = 0;
    run_in(kind, P, [&](Node& node) -> Task<> {
      std::uint64_t operation = 0;
      for (const std::uint64_t n : kSizes) co_await body(node, P, n, ++operation);
      ++done;
    });
    EXPECT_EQ(done, P);
  }
}

void expect_own_part_summed(const Range& data, std::uint64_t P, const Node& node) {
  const Range own = part_of(data, node.id.value(), P);
  const std::uint64_t at = (own.at - data.at).value();
  for (std::uint64_t i = 0; i < own.n.value(); ++i)
    ASSERT_EQ(own.data()[i], coded_sum(P, at + i)) << place(P, data.n, node) << ", index " << i;
}

TEST_P(Parts, DirectReduceScatterLeavesTheSumWithItsOwnerAndTheRestAsItWas) {
  for_all(GetParam(), [](Node& node, std::uint64_t P, std::uint64_t n, std::uint64_t op) -> Task<> {
    Buffers b(node, n);
    fill(b.data.all(), node.id.value());
    const Group group = group_of(node);
    co_await direct_reduce_scatter(group, b.data.all(), op);
    expect_own_part_summed(b.data.all(), P, node);
    const Range own = part_of(b.data.all(), node.id.value(), P);
    for (std::uint64_t i = 0; i < n; ++i) {
      const bool is_own = i >= own.at.value() && i < (own.at + own.n).value();
      const float expected = is_own ? coded_sum(P, i) : coded(node.id.value(), i);
      EXPECT_EQ(b.data.data()[i], expected) << place(P, Elements(n), node);
    }
  });
}

TEST_P(Parts, OutOfPlaceDirectReduceScatterLeavesItsInputAlone) {
  for_all(GetParam(), [](Node& node, std::uint64_t P, std::uint64_t n, std::uint64_t op) -> Task<> {
    Buffers b(node, n);
    fill(b.data.all(), node.id.value());
    const Group group = group_of(node);
    co_await direct_reduce_scatter(group, b.data.all(), part_of(b.other.all(), node.id.value(), P),
                                   op);
    expect_own_part_summed(b.other.all(), P, node);
    for (std::uint64_t i = 0; i < n; ++i) EXPECT_EQ(b.data.data()[i], coded(node.id.value(), i));
  });
}

TEST_P(Parts, RingReduceScatterLeavesTheSumWithItsOwner) {
  for_all(GetParam(), [](Node& node, std::uint64_t P, std::uint64_t n, std::uint64_t op) -> Task<> {
    Buffers b(node, n);
    fill(b.data.all(), node.id.value());
    const Group group = group_of(node);
    co_await ring_reduce_scatter(group, b.data.all(),
                                 b.other.range(Elements(0), ring_scratch(Elements(n), P)), op);
    expect_own_part_summed(b.data.all(), P, node);
  });
}

TEST_P(Parts, AllGatherBringsEveryPartToAll) {
  for_all(GetParam(), [](Node& node, std::uint64_t P, std::uint64_t n, std::uint64_t op) -> Task<> {
    Buffers b(node, n);
    const std::uint64_t r = node.id.value();
    const Group group = group_of(node);
    // Part r is that of member r; all other parts hold garbage.
    for (Arena* arena : {&b.data, &b.other}) {
      for (float& x : arena->all().data()) x = -1;
      const Range own = part_of(arena->all(), r, P);
      for (std::uint64_t i = 0; i < own.n.value(); ++i) own.data()[i] = coded(r, i);
    }
    co_await direct_all_gather(group, b.data.all(), op);
    co_await ring_all_gather(group, b.other.all(), op + 100);
    for (std::uint64_t owner = 0; owner < P; ++owner) {
      const Range direct = part_of(b.data.all(), owner, P);
      const Range ring = part_of(b.other.all(), owner, P);
      for (std::uint64_t i = 0; i < direct.n.value(); ++i) {
        EXPECT_EQ(direct.data()[i], coded(owner, i)) << place(P, Elements(n), node);
        EXPECT_EQ(ring.data()[i], coded(owner, i)) << place(P, Elements(n), node);
      }
    }
  });
}

TEST_P(Parts, TreeReducesToAnyRootAndBroadcastsFromAny) {
  for_all(GetParam(), [](Node& node, std::uint64_t P, std::uint64_t n, std::uint64_t op) -> Task<> {
    Buffers b(node, n);
    const Rank root(static_cast<std::uint32_t>(op % P));
    const Group group = group_of(node);
    fill(b.data.all(), node.id.value());
    co_await tree_reduce(group, root, b.data.all(), b.other.all(), op);
    for (std::uint64_t i = 0; group.rank == root && i < n; ++i)
      EXPECT_EQ(b.data.data()[i], coded_sum(P, i)) << place(P, Elements(n), node);
    co_await tree_broadcast(group, root, b.data.all(), op);
    for (std::uint64_t i = 0; i < n; ++i)
      EXPECT_EQ(b.data.data()[i], coded_sum(P, i)) << place(P, Elements(n), node);
  });
}

TEST_P(Parts, AllToAllBringsPartJOfEveryoneToMemberJ) {
  for_all(GetParam(), [](Node& node, std::uint64_t P, std::uint64_t n, std::uint64_t op) -> Task<> {
    Buffers b(node, n * P);
    const std::uint64_t r = node.id.value();
    const Group group = group_of(node);
    for (std::uint64_t i = 0; i < n * P; ++i) b.data.data()[i] = coded(r, i);
    co_await all_to_all(group, b.data.all(), b.other.all(), op);
    for (std::uint64_t from = 0; from < P; ++from)
      for (std::uint64_t i = 0; i < n; ++i)
        EXPECT_EQ(b.other.data()[from * n + i], coded(from, r * n + i))
            << place(P, Elements(n), node);
  });
}

// The members at distance 1 and 3 around the ring, as far as they are distinct.
TEST_P(Parts, NeighboursGetEachOthersValues) {
  for_all(GetParam(), [](Node& node, std::uint64_t P, std::uint64_t n, std::uint64_t op) -> Task<> {
    const Group group = group_of(node);
    std::set<NodeId> beside;
    for (const std::int64_t distance : {1, -1, 3, -3}) beside.insert(group.peer(distance));
    beside.erase(node.id);
    Arena own(node.endpoint, Elements(n), Substance::Real);
    Arena rooms(node.endpoint, Elements(n * 4), Substance::Real);
    fill(own.all(), node.id.value());
    std::vector<Neighbour> neighbours;
    for (const NodeId peer : beside)
      neighbours.push_back({peer, rooms.range(Elements(n * neighbours.size()), Elements(n))});
    co_await exchange_with(group, own.all(), neighbours, op);
    for (const Neighbour& neighbour : neighbours)
      for (std::uint64_t i = 0; i < n; ++i)
        EXPECT_EQ(neighbour.room.data()[i], coded(neighbour.node.value(), i))
            << place(P, Elements(n), node);
  });
}

TEST_P(Parts, AllGatherOfBlocksReachesEveryMember) {
  for_all(GetParam(), [](Node& node, std::uint64_t P, std::uint64_t n, std::uint64_t op) -> Task<> {
    const std::uint64_t r = node.id.value();
    const Group group = group_of(node);
    std::vector<float> blocks(P * n), room(P * n);
    for (std::uint64_t i = 0; i < n; ++i) blocks[r * n + i] = coded(r, i);
    co_await all_gather(group, std::as_writable_bytes(std::span(blocks)),
                        std::as_writable_bytes(std::span(room)), op);
    for (std::uint64_t from = 0; from < P; ++from)
      for (std::uint64_t i = 0; i < n; ++i)
        EXPECT_EQ(blocks[from * n + i], coded(from, i)) << place(P, Elements(n), node);
    // The room is reused, and freed: the network must have released it.
    co_await barrier(group, op + 100);
  });
}

enum class InPassReducer : std::uint8_t { AllGather, Barrier };

TEST(InPassReducers, EndNowhereBeforeTheyHaveBegunEverywhere) {
  for (const InPassReducer meeting : {InPassReducer::AllGather, InPassReducer::Barrier}) {
    const std::uint32_t P = 7;
    Time last_begun{};
    std::vector<Time> ended;
    World world(Cluster::uniform(P, {.latency = 1us, .bytes_per_s = 1e9}),
                {.seed = Seed(2), .fixed_view = true});
    world.run([&](Node& node) -> Task<> {
      co_await node.env.sleep(Duration(1ms * node.id.value()));
      last_begun = std::max(last_begun, node.env.now());
      std::vector<std::byte> blocks(P), room(P);
      const Group group = group_of(node);
      if (meeting == InPassReducer::AllGather) {
        co_await all_gather(group, blocks, room, 1);
      } else {
        co_await barrier(group, 1);
      }
      ended.push_back(node.env.now());
    });
    ASSERT_EQ(ended.size(), P);
    for (const Time t : ended) EXPECT_GE(t, last_begun);
  }
}

}  // namespace
}  // namespace shoal
