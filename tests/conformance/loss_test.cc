// Endpoint conformance: peers that are lost, at any point of a conversation.
#include <gtest/gtest.h>

#include "conformance/messages.h"
#include "conformance/worlds.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

class EndpointLoss : public InWorld {};
INSTANTIATE_TEST_SUITE_P(Worlds, EndpointLoss, testing::ValuesIn(worlds()), world_name);

constexpr NodeId kVictim(1);

std::vector<NodeId> survivors(std::size_t nodes) {
  std::vector<NodeId> all = everyone(nodes);
  std::erase(all, kVictim);
  return all;
}

// Waits forever, as a node that is about to be killed.
Task<void> linger(Node& node) { co_await node.env.sleep(1h); }

Task<void> recv_range(Node& node, NodeId sender, Tag tag, MutBuf range) {
  co_await node.endpoint.recv(from(sender, tag), range);
}

// The peer that the task lost; kNobody if it ended well.
Task<NodeId> loses(Task<void> task) {
  try {
    co_await std::move(task);
  } catch (const PeerLost& lost) {
    co_return lost.peer();
  }
  co_return kNobody;
}

// Waits for the view without the victim. First ends all that is left of the old generation, as a
// strategy does.
Task<void> see_it_go(Node& node) {
  while (node.membership.now().find(kVictim) != nullptr) {
    const ViewPtr view = co_await node.membership.after(node.membership.now().generation);
    EXPECT_NE(view->find(node.id), nullptr);
  }
}

TEST_P(EndpointLoss, AReceiveThatWaitsFailsAndSoDoesEverythingLater) {
  world->run(3, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == kVictim) {
      co_await send_token(node, NodeId(0));
      co_await linger(node);
    }
    if (node.id == NodeId(0)) {
      co_await recv_token(node, kVictim);
      co_await recv_token(node, NodeId(2));  // All have the first view, and its generation.
      world->kill(kVictim);
    } else {
      co_await send_token(node, NodeId(0));
    }
    // Before the match, on both survivors; then later operations, small and large.
    const NodeId first = co_await loses(recv_message(node, kVictim, tag_of(now, 1), 1, 10));
    EXPECT_EQ(first, kVictim);
    const NodeId second = co_await loses(recv_message(node, kVictim, tag_of(now, 2), 1, 10));
    EXPECT_EQ(second, kVictim);
    for (const std::size_t size : kTwoSizes) {
      const NodeId lost = co_await loses(send_message(node, kVictim, tag_of(now, 3), 1, size));
      EXPECT_EQ(lost, kVictim) << size << " bytes";
    }
    co_await see_it_go(node);
    const NodeId third = co_await loses(send_message(node, kVictim, tag_of(now, 4), 1, 10));
    EXPECT_EQ(third, kVictim);
    // The others continue to communicate.
    const NodeId other(2 - node.id.value());
    const ByteVector out = message(node.id, other, 5, kEager + 1);
    ByteVector in(kEager + 1);
    co_await all(node.endpoint.send(other, tag_of(now, 5), whole(out)),
                 node.endpoint.recv(from(other, tag_of(now, 5)), room(in)));
    EXPECT_EQ(difference(in, other, node.id, 5), "");
    co_await finish(node, survivors(3));
  });
}

TEST_P(EndpointLoss, APeerThatDiesBeforeItSaysAnythingIsLost) {
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == kVictim) co_await linger(node);
    world->kill(kVictim);
    const NodeId lost = co_await loses(recv_message(node, kVictim, tag_of(now, 1), 1, 10));
    EXPECT_EQ(lost, kVictim);
    co_await see_it_go(node);
    EXPECT_EQ(node.membership.now().size(), 1U);
  });
}

TEST_P(EndpointLoss, ASendThatNobodyTakesFailsWhenItsReceiverDies) {
  ByteVector out = message(NodeId(0), kVictim, 1, kSlices);
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == kVictim) {
      co_await send_token(node, NodeId(0));
      co_await linger(node);
    }
    co_await recv_token(node, kVictim);
    co_await with_group([&](TaskGroup& group) -> Task<void> {
      const auto send = [](Node& n, Generation g, const ByteVector& bytes) -> Task<void> {
        try {
          co_await n.endpoint.send(kVictim, tag_of(g, 1), whole(bytes));
        } catch (const PeerLost& lost) {
          EXPECT_EQ(lost.peer(), kVictim);
          co_return;
        }
        // A world that buffers messages may have completed it.
      };
      group.spawn(send(node, now, out));
      co_await node.env.sleep(0ns);
      world->kill(kVictim);
    });
    co_await see_it_go(node);
    co_await node.endpoint.retire(GroupId(1), now);
    wipe(out);
  });
}

// The sender dies during the copy of its message, or just before or after it: the receiver gets the
// whole message or PeerLost.
TEST_P(EndpointLoss, TheSenderDiesInTheMiddleOfAMessage) {
  for (int turns = 0; turns < 6; ++turns) {
    ByteVector in(kSlices);
    world->run(2, [&, turns](Node& node) -> Task<void> {
      const Generation now = co_await first_generation(node);
      if (node.id == kVictim) {
        co_await send_message(node, NodeId(0), tag_of(now, 1), 1, kSlices);
        co_await linger(node);
      }
      const Context context = co_await current();
      TaskGroup group(context);
      group.spawn(recv_range(node, kVictim, tag_of(now, 1), room(in)));
      for (int turn = 0; turn < turns; ++turn) co_await node.env.sleep(0ns);
      world->kill(kVictim);
      bool received = false;
      try {
        co_await group.join();
        received = true;
      } catch (const PeerLost& lost) {
        EXPECT_EQ(lost.peer(), kVictim);
      }
      if (received) {
        EXPECT_EQ(difference(in, kVictim, NodeId(0), 1), "") << turns << " turns";
      }
      co_await see_it_go(node);
      co_await node.endpoint.retire(GroupId(1), now);
      wipe(in);
      co_await node.env.sleep(0ns);
      EXPECT_TRUE(untouched(in));
    });
  }
}

// The receiver dies during a message: the send ends, well or with PeerLost, and its range is free.
TEST_P(EndpointLoss, TheReceiverDiesInTheMiddleOfAMessage) {
  ByteVector in(kSlices);
  for (int turns = 0; turns < 6; ++turns) {
    ByteVector out = message(NodeId(0), kVictim, 1, kSlices);
    world->run(2, [&, turns](Node& node) -> Task<void> {
      const Generation now = co_await first_generation(node);
      if (node.id == kVictim) {
        co_await send_token(node, NodeId(0));
        co_await node.endpoint.recv(from(NodeId(0), tag_of(now, 1)), room(in));
        co_await linger(node);
      }
      co_await recv_token(node, kVictim);
      const auto send = [](Node& n, Generation g, const ByteVector& bytes) -> Task<void> {
        co_await n.endpoint.send(kVictim, tag_of(g, 1), whole(bytes));
      };
      const Context context = co_await current();
      TaskGroup group(context);
      group.spawn(send(node, now, out));
      for (int turn = 0; turn < turns; ++turn) co_await node.env.sleep(0ns);
      world->kill(kVictim);
      try {
        co_await group.join();
      } catch (const PeerLost& lost) {
        EXPECT_EQ(lost.peer(), kVictim);
      }
      co_await see_it_go(node);
      co_await node.endpoint.retire(GroupId(1), now);
      wipe(out);
    });
  }
}

TEST_P(EndpointLoss, WhatArrivedBeforeTheLossCanStillBeReceived) {
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == kVictim) {
      co_await send_message(node, NodeId(0), tag_of(now, 1), 1, 100);
      co_await send_token(node, NodeId(0));
      co_await linger(node);
    }
    co_await recv_message(node, kVictim, tag_of(now, 1), 1, 100);
    co_await recv_token(node, kVictim);
    world->kill(kVictim);
    const NodeId lost = co_await loses(recv_message(node, kVictim, tag_of(now, 1), 2, 100));
    EXPECT_EQ(lost, kVictim);
    co_await see_it_go(node);
  });
}

TEST_P(EndpointLoss, AReceiveFromAnyoneOutlivesTheLossOfOne) {
  world->run(3, [&](Node& node) -> Task<void> {
    co_await first_generation(node);
    const Tag tag = tag_of(Generation(0), 1);
    if (node.id == kVictim) {
      co_await send_token(node, NodeId(0));
      co_await linger(node);
    }
    if (node.id == NodeId(0)) {
      co_await recv_token(node, kVictim);
      co_await with_group([&](TaskGroup& group) -> Task<void> {
        const auto receive = [](Node& n, Tag t) -> Task<void> {
          ByteVector in(10);
          const Received r = co_await n.endpoint.recv(from(kAnyone, t), room(in));
          EXPECT_EQ(r.from, NodeId(2));
        };
        group.spawn(receive(node, tag));
        co_await node.env.sleep(0ns);
        world->kill(kVictim);
        co_await see_it_go(node);
        co_await send_token(node, NodeId(2));
      });
    } else {
      co_await recv_token(node, NodeId(0));
      co_await send_message(node, NodeId(0), tag, 1, 10);
    }
    co_await finish(node, survivors(3));
  });
}

// The same during a message of the lost peer.
TEST_P(EndpointLoss, AReceiveFromAnyoneOutlivesALossInTheMiddleOfAMessage) {
  ByteVector in(kSlices);
  for (int turns = 0; turns < 4; ++turns) {
    world->run(3, [&, turns](Node& node) -> Task<void> {
      co_await first_generation(node);
      const Tag tag = tag_of(Generation(0), 1);
      if (node.id == kVictim) {
        co_await send_message(node, NodeId(0), tag, 1, kSlices);
        co_await linger(node);
      }
      if (node.id == NodeId(0)) {
        co_await with_group([&](TaskGroup& group) -> Task<void> {
          const auto receive = [](Node& n, Tag t, ByteVector& bytes) -> Task<void> {
            Received r = co_await n.endpoint.recv(from(kAnyone, t), room(bytes));
            if (r.from == kVictim) {
              EXPECT_EQ(difference(bytes, kVictim, NodeId(0), 1), "");
              r = co_await n.endpoint.recv(from(kAnyone, t), room(bytes));
            }
            EXPECT_EQ(r.from, NodeId(2));
          };
          group.spawn(receive(node, tag, in));
          for (int turn = 0; turn < turns; ++turn) co_await node.env.sleep(0ns);
          world->kill(kVictim);
          co_await see_it_go(node);
          co_await send_token(node, NodeId(2));
        });
      } else {
        co_await recv_token(node, NodeId(0));
        co_await send_message(node, NodeId(0), tag, 1, 10);
      }
      co_await finish(node, survivors(3));
    });
  }
}

// Many operations with all peers, one of which dies: only those with it fail.
TEST_P(EndpointLoss, OnlyOperationsWithTheLostPeerFail) {
  constexpr std::size_t kNodes = 5;
  world->run(kNodes, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == kVictim) {
      for (const NodeId peer : survivors(kNodes)) co_await recv_token(node, peer);
      world->kill(kVictim);
      co_await linger(node);
    }
    const auto expect_loss = [](Node& n, Generation g) -> Task<void> {
      const NodeId lost = co_await loses(recv_message(n, kVictim, tag_of(g, 1), 1, 10));
      EXPECT_EQ(lost, kVictim);
    };
    co_await with_group([&](TaskGroup& group) -> Task<void> {
      group.spawn(expect_loss(node, now));
      for (const NodeId peer : survivors(kNodes)) {
        group.spawn(recv_message(node, peer, tag_of(now, 1), 1, kEager + 1));
        group.spawn(send_message(node, peer, tag_of(now, 1), 1, kEager + 1));
      }
      co_await send_token(node, kVictim);
    });
    co_await see_it_go(node);
    co_await finish(node, survivors(kNodes));
  });
}

// A world may have buffered the message; otherwise no node receives it.
Task<void> send_until_fenced(Node& node, Tag tag) {
  try {
    co_await send_message(node, NodeId(0), tag, 1, 64);
  } catch (const Fenced&) {
  }
}

// A node that is evicted while it lives gets Fenced and comes back as the next incarnation;
// messages of its old life are not received any more.
TEST_P(EndpointLoss, AnEvictedNodeIsFencedAndItsOldMessagesAreNotDelivered) {
  world->run(2, [&](Node& node) -> Task<void> {
    const Tag tag = tag_of(Generation(0), 1);
    const ViewPtr view = co_await node.membership.after(Generation(0));
    if (node.id == kVictim && node.incarnation == Incarnation(1)) {
      co_await with_group([&](TaskGroup& group) -> Task<void> {
        group.spawn(send_until_fenced(node, tag));
        co_await send_token(node, NodeId(0));
        EXPECT_THROW(co_await recv_token(node, NodeId(0), 7), Fenced);
      });
      EXPECT_THROW(co_await recv_token(node, NodeId(0), 8), Fenced);
      EXPECT_THROW(co_await send_token(node, NodeId(0), 9), Fenced);
      EXPECT_THROW(co_await node.membership.after(view->generation), Fenced);
      throw Fenced("as a program does that lets it pass");
    }
    // The number of the message identifies its life.
    if (node.id == kVictim) {
      co_await send_message(node, NodeId(0), tag, 2, 64);
      co_await send_token(node, NodeId(0));
    } else {
      co_await recv_token(node, kVictim);
      node.membership.suspect(kVictim, "the test says so");
      while (!node.membership.now().has(kVictim, Incarnation(2)))
        co_await node.membership.after(node.membership.now().generation);
      co_await recv_message(node, kVictim, tag, 2, 64);
      co_await recv_token(node, kVictim);
    }
    co_await finish(node, everyone(2));
  });
}

}  // namespace
}  // namespace shoal
