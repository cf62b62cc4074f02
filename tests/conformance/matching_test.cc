// Endpoint conformance: which message goes to which receive.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "base/random.h"
#include "conformance/messages.h"
#include "conformance/worlds.h"

namespace shoal {
namespace {

class EndpointMatching : public InWorld {};
INSTANTIATE_TEST_SUITE_P(Worlds, EndpointMatching, testing::ValuesIn(worlds()), world_name);

std::size_t size_of(std::uint64_t id) { return id % 5 == 0 ? kEager + 1 + id : id; }

TEST_P(EndpointMatching, HundredsOfTagsInFlightAreReceivedInAnotherOrder) {
  constexpr std::size_t kTags = 400;
  world->run(2, [](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    const NodeId other(1 - node.id.value());
    std::vector<std::uint64_t> ids(kTags);
    for (std::uint64_t id = 0; id < kTags; ++id) ids[id] = id;
    co_await with_group([&](TaskGroup& group) -> Task<void> {
      for (const std::uint64_t id : ids)
        group.spawn(send_message(node, other, tag_of(now, id), id, size_of(id)));
      Random random(Seed(node.id.value()), Purpose::Test);
      shuffle(std::span(ids), random);
      for (const std::uint64_t id : ids)
        group.spawn(recv_message(node, other, tag_of(now, id), id, size_of(id)));
      co_return;
    });
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointMatching, MessagesOfOneSenderAndTagArriveInOrderWhateverTheirSizes) {
  constexpr std::uint64_t kMessages = 200;
  world->run(2, [](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    const Tag tag = tag_of(now, 1);
    co_await with_group([&](TaskGroup& group) -> Task<void> {
      // Posted in order, all at once: the n-th receive gets the n-th message.
      for (std::uint64_t n = 0; n < kMessages; ++n) {
        if (node.id == NodeId(0)) {
          group.spawn(send_message(node, NodeId(1), tag, n, size_of(n)));
        } else {
          group.spawn(recv_message(node, NodeId(0), tag, n, size_of(n)));
        }
      }
      co_return;
    });
    // And posted one after the other.
    for (std::uint64_t n = 0; n < kMessages; ++n) {
      if (node.id == NodeId(0)) {
        co_await send_message(node, NodeId(1), tag, n, size_of(n));
      } else {
        co_await recv_message(node, NodeId(0), tag, n, size_of(n));
      }
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointMatching, AnySourceTakesEveryMessageOnceAndNamesItsSender) {
  constexpr std::size_t kNodes = 5;
  static constexpr std::uint64_t kEach = 20;
  world->run(kNodes, [](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    const Tag tag = tag_of(now, 3);
    if (node.id == NodeId(0)) {
      std::vector<std::uint64_t> next(kNodes);
      for (std::uint64_t n = 0; n < (kNodes - 1) * kEach; ++n) {
        ByteVector in(kEager * 2);
        const Received r = co_await node.endpoint.recv(from(kAnyone, tag), room(in));
        std::uint64_t& number = next.at(r.from.value());
        in.resize(r.size.value());
        EXPECT_EQ(r.size, Bytes(size_of(number)));
        EXPECT_EQ(difference(in, r.from, node.id, number), "");
        ++number;
      }
      for (std::size_t n = 1; n < kNodes; ++n) EXPECT_EQ(next[n], kEach) << "node " << n;
    } else {
      for (std::uint64_t n = 0; n < kEach; ++n)
        co_await send_message(node, NodeId(0), tag, n, size_of(n));
    }
    co_await finish(node, everyone(kNodes));
  });
}

TEST_P(EndpointMatching, AMaskTakesTheTagsItCoversAndTellsWhich) {
  world->run(2, [](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == NodeId(0)) {
      co_await with_group([&](TaskGroup& group) -> Task<void> {
        for (std::uint64_t id = 0; id < 8; ++id)
          group.spawn(send_message(node, NodeId(1), tag_of(now, 0x500 + id), id, 10));
        group.spawn(send_message(node, NodeId(1), tag_of(now, 0x600), 99, 10));
        co_return;
      });
    } else {
      co_await recv_message(node, NodeId(0), tag_of(now, 0x600), 99, 10);
      for (std::uint64_t n = 0; n < 8; ++n) {
        Match match = from(NodeId(0), tag_of(now, 0x5ab));
        match.mask = ~std::uint64_t{0xff};
        ByteVector in(10);
        const Received r = co_await node.endpoint.recv(match, room(in));
        EXPECT_EQ(r.id & ~std::uint64_t{0xff}, 0x500U);
        EXPECT_EQ(difference(in, NodeId(0), NodeId(1), r.id & 0xffU), "");
      }
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointMatching, GroupsWithEqualIdsAreKeptApart) {
  world->run(2, [](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    Tag one = tag_of(now, 5);
    Tag two = one;
    two.group = GroupId(2);
    if (node.id == NodeId(0)) {
      co_await with_group([&](TaskGroup& group) -> Task<void> {
        group.spawn(send_message(node, NodeId(1), one, 1, 100));
        group.spawn(send_message(node, NodeId(1), two, 2, 100));
        co_return;
      });
    } else {
      co_await recv_message(node, NodeId(0), two, 2, 100);
      co_await recv_message(node, NodeId(0), one, 1, 100);
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointMatching, AFutureGenerationWaitsAndAStaleOneIsNeverDelivered) {
  world->run(2, [](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    const Generation next = now.next();
    if (node.id == NodeId(0)) {
      co_await with_group([&](TaskGroup& group) -> Task<void> {
        // While the receiver is still in the old generation,
        group.spawn(send_message(node, NodeId(1), tag_of(next, 1), 10, 64));
        group.spawn(send_message(node, NodeId(1), tag_of(now, 1), 20, 64));
        co_await send_token(node, NodeId(1), 1);
        co_await recv_token(node, NodeId(1), 2);
        // and after it has retired it.
        group.spawn(send_message(node, NodeId(1), tag_of(now, 1), 30, 64));
        group.spawn(send_message(node, NodeId(1), tag_of(next, 1), 40, 64));
      });
    } else {
      co_await recv_token(node, NodeId(0), 1);
      co_await node.endpoint.retire(GroupId(1), now);
      co_await send_token(node, NodeId(0), 2);
      // The remaining messages, in order, are all of the next generation.
      co_await recv_message(node, NodeId(0), tag_of(next, 1), 10, 64);
      co_await recv_message(node, NodeId(0), tag_of(next, 1), 40, 64);
      ByteVector in(64);
      EXPECT_THROW(co_await node.endpoint.recv(from(NodeId(0), tag_of(now, 1)), room(in)),
                   Cancelled);
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointMatching, RetiringOneGroupLeavesTheOthersAlone) {
  world->run(2, [](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    Tag other = tag_of(now, 1);
    other.group = GroupId(2);
    if (node.id == NodeId(0)) {
      co_await with_group([&](TaskGroup& group) -> Task<void> {
        group.spawn(send_message(node, NodeId(1), other, 1, 10));
        group.spawn(send_message(node, NodeId(1), tag_of(Generation(0), 1), 2, 10));
        co_await send_token(node, NodeId(1), 1);
      });
    } else {
      co_await recv_token(node, NodeId(0), 1);
      co_await node.endpoint.retire(GroupId(1), now);
      co_await recv_message(node, NodeId(0), other, 1, 10);
      co_await recv_message(node, NodeId(0), tag_of(Generation(0), 1), 2, 10);
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointMatching, AMessageLargerThanTheRoomIsCorruptAndNamesThePeer) {
  world->run(2, [](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    for (const std::size_t size : kTwoSizes) {
      if (node.id == NodeId(0)) {
        co_await send_message(node, NodeId(1), tag_of(now, 1), 1, size);  // It ends nevertheless.
      } else {
        ByteVector in(size - 1, kUntouched);
        std::string what;
        try {
          co_await node.endpoint.recv(from(NodeId(0), tag_of(now, 1)), room(in));
        } catch (const Corrupt& error) {
          what = error.what();
        }
        EXPECT_NE(what.find("node 0"), std::string::npos) << what;
        EXPECT_NE(what.find(std::to_string(size)), std::string::npos) << what;
        EXPECT_TRUE(untouched(in));
      }
    }
    // The connection still works.
    if (node.id == NodeId(0)) {
      co_await send_message(node, NodeId(1), tag_of(now, 2), 2, 5);
    } else {
      co_await recv_message(node, NodeId(0), tag_of(now, 2), 2, 5);
    }
    co_await finish(node, everyone(2));
  });
}

}  // namespace
}  // namespace shoal
