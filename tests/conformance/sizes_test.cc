// Endpoint conformance: messages of every size, between any number of nodes, arrive whole.
#include <gtest/gtest.h>

#include "conformance/messages.h"
#include "conformance/worlds.h"

namespace shoal {
namespace {

class EndpointSizes : public InWorld {};
INSTANTIATE_TEST_SUITE_P(Worlds, EndpointSizes, testing::ValuesIn(worlds()), world_name);

constexpr std::size_t kSizes[] = {
    0,      1,          3,       1001,       4096,           kEager - 1,
    kEager, kEager + 1, 100'001, 256 * 1024, 256 * 1024 + 1, kLarge};

TEST_P(EndpointSizes, EverySizeArrivesWholeInBothDirectionsAtOnce) {
  world->run(2, [](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    const NodeId other(1 - node.id.value());
    std::uint64_t number = 0;
    for (const std::size_t size : kSizes) {
      const Tag tag = tag_of(now, number);
      const ByteVector out = message(node.id, other, number, size);
      ByteVector in(size, kUntouched);
      auto both = co_await all(node.endpoint.send(other, tag, whole(out)),
                               node.endpoint.recv(from(other, tag), room(in)));
      EXPECT_EQ(std::get<1>(both).size, Bytes(size));
      EXPECT_EQ(difference(in, other, node.id, number), "");
      ++number;
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointSizes, AShorterMessageLeavesTheRestOfTheRoomAlone) {
  world->run(2, [](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    const Tag tag = tag_of(now, 1);
    if (node.id == NodeId(0)) {
      co_await send_message(node, NodeId(1), tag, 1, 1001);
    } else {
      ByteVector in(2000, kUntouched);
      const Received r = co_await node.endpoint.recv(from(NodeId(0), tag), room(in));
      EXPECT_EQ(r.size, Bytes(1001));
      EXPECT_EQ(difference(std::span(in).first(1001), NodeId(0), NodeId(1), 1), "");
      for (std::size_t i = 1001; i < in.size(); ++i) EXPECT_EQ(in[i], kUntouched) << "index " << i;
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointSizes, SelfSendsWorkWhicheverComesFirst) {
  world->run(1, [](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    std::uint64_t number = 0;
    for (const std::size_t size : kSizes) {
      const Tag tag = tag_of(now, number);
      const ByteVector out = message(node.id, node.id, number, size);
      ByteVector in(size, kUntouched);
      if (number % 2 == 0) {
        co_await all(node.endpoint.send(node.id, tag, whole(out)),
                     node.endpoint.recv(from(node.id, tag), room(in)));
      } else {
        co_await all(node.endpoint.recv(from(node.id, tag), room(in)),
                     node.endpoint.send(node.id, tag, whole(out)));
      }
      EXPECT_EQ(difference(in, node.id, node.id, number), "");
      ++number;
    }
  });
}

// Every node sends to every node, including itself, all at once.
Task<void> all_to_all(Node& node, std::size_t nodes, std::size_t size) {
  const Generation now = co_await first_generation(node);
  EXPECT_EQ(node.membership.now().size(), nodes);
  const Tag tag = tag_of(now, 7);
  co_await with_group([&](TaskGroup& group) -> Task<void> {
    for (std::size_t n = 0; n < nodes; ++n) {
      const NodeId peer = node_id((node.id.value() + n) % nodes);
      group.spawn(recv_message(node, peer, tag, n + size, size + peer.value()));
    }
    for (std::size_t n = 0; n < nodes; ++n) {
      // The number under which the receiver counts this message.
      const NodeId peer = node_id((node.id.value() + n) % nodes);
      const std::size_t back = (nodes - n) % nodes;
      group.spawn(send_message(node, peer, tag, back + size, size + node.id.value()));
    }
    co_return;
  });
  co_await finish(node, everyone(nodes));
}

TEST_P(EndpointSizes, AllToAllForEveryNumberOfNodes) {
  for (const std::size_t nodes : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{777}, kEager + 1}) {
      SCOPED_TRACE(fmt::format("{} nodes, {} bytes and more", nodes, size));
      world->run(nodes, [nodes, size](Node& node) { return all_to_all(node, nodes, size); });
    }
  }
}

TEST_P(EndpointSizes, LargeAllToAllBetweenThree) {
  world->run(3, [](Node& node) { return all_to_all(node, 3, kLarge); });
}

}  // namespace
}  // namespace shoal
