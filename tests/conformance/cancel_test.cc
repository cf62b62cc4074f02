// Endpoint conformance: operations that end early, and the ranges that they leave behind.
//
// The test owns the ranges of operations that may be cancelled, not the frames of the programs: a
// cancelled operation throws at once, while the transport may still use its range.
#include <gtest/gtest.h>

#include "conformance/messages.h"
#include "conformance/worlds.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

class EndpointCancel : public InWorld {};
INSTANTIATE_TEST_SUITE_P(Worlds, EndpointCancel, testing::ValuesIn(worlds()), world_name);

Task<void> send_range(Node& node, NodeId to, Tag tag, ConstBuf range) {
  co_await node.endpoint.send(to, tag, range);
}
Task<void> recv_range(Node& node, NodeId sender, Tag tag, MutBuf range) {
  co_await node.endpoint.recv(from(sender, tag), range);
}

Task<void> recv_and_tell(Node& node, NodeId sender, Tag tag, MutBuf range, bool& received) {
  co_await node.endpoint.recv(from(sender, tag), range);
  received = true;
}

// Lets everything that is ready run.
Task<void> pause(Node& node) { co_await node.env.sleep(0ns); }

TEST_P(EndpointCancel, ACancelledReceiveTakesNoMessage) {
  std::array<ByteVector, 2> rooms{ByteVector(100, kUntouched), ByteVector(100, kUntouched)};
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    const Tag tag = tag_of(now, 1);
    if (node.id == NodeId(0)) {
      co_await recv_token(node, NodeId(1));
      co_await send_message(node, NodeId(1), tag, 1, 100);
    } else {
      const Context context = co_await current();
      TaskGroup group(context);
      group.spawn(recv_range(node, NodeId(0), tag, room(rooms[0])));
      co_await pause(node);
      group.cancel();
      co_await group.join();
      co_await send_token(node, NodeId(0));
      co_await recv_message(node, NodeId(0), tag, 1, 100);
      EXPECT_TRUE(untouched(rooms[0]));
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointCancel, RaceCancelsTheReceiveThatLoses) {
  std::array<ByteVector, 2> rooms{ByteVector(64, kUntouched), ByteVector(64, kUntouched)};
  world->run(3, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == NodeId(0)) {
      // Node 2 sends only after it was told that the race is over.
      auto winner =
          co_await race(node.endpoint.recv(from(NodeId(1), tag_of(now, 1)), room(rooms[0])),
                        node.endpoint.recv(from(NodeId(2), tag_of(now, 1)), room(rooms[1])));
      EXPECT_EQ(winner.index(), 0U);
      EXPECT_EQ(difference(rooms[0], NodeId(1), NodeId(0), 1), "");
      co_await send_token(node, NodeId(2));
      co_await recv_message(node, NodeId(2), tag_of(now, 1), 1, 64);
    } else {
      if (node.id == NodeId(2)) co_await recv_token(node, NodeId(0));
      co_await send_message(node, NodeId(0), tag_of(now, 1), 1, 64);
    }
    co_await finish(node, everyone(3));
  });
}

TEST_P(EndpointCancel, ATimeoutEndsAReceiveThatNobodySendsTo) {
  ByteVector in(64, kUntouched);
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == NodeId(0)) {
      auto received = co_await timeout(
          node.env, 1ms, node.endpoint.recv(from(NodeId(1), tag_of(now, 1)), room(in)));
      EXPECT_FALSE(received.has_value());
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointCancel, ATimeoutThatIsNotReachedChangesNothing) {
  ByteVector in(64, kUntouched);
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == NodeId(0)) {
      auto received = co_await timeout(
          node.env, 60s, node.endpoint.recv(from(NodeId(1), tag_of(now, 1)), room(in)));
      EXPECT_TRUE(received.has_value());
      EXPECT_EQ(difference(in, NodeId(1), NodeId(0), 1), "");
    } else {
      co_await send_message(node, NodeId(0), tag_of(now, 1), 1, 64);
    }
    co_await finish(node, everyone(2));
  });
}

// A send that no node receives: cancelled by its group, by a race and by a timeout. Then both sides
// retire the generation, which frees the ranges, and later messages are not disturbed.
TEST_P(EndpointCancel, CancelledSendsEndAndRetireFreesTheirRanges) {
  ByteVector out = message(NodeId(0), NodeId(1), 1, kEager + 1);
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == NodeId(0)) {
      const Context context = co_await current();
      TaskGroup group(context);
      for (std::uint64_t id = 0; id < 10; ++id)
        group.spawn(send_range(node, NodeId(1), tag_of(now, id), whole(out)));
      co_await pause(node);
      group.cancel();
      co_await group.join();
      co_await race(node.endpoint.send(NodeId(1), tag_of(now, 10), whole(out)), pause(node));
      co_await timeout(node.env, 1ms, node.endpoint.send(NodeId(1), tag_of(now, 11), whole(out)));
      co_await send_token(node, NodeId(1));
      co_await node.endpoint.retire(GroupId(1), now);
      wipe(out);  // Free now: no node reads it any more.
      EXPECT_THROW(co_await node.endpoint.send(NodeId(1), tag_of(now, 12), whole(out)), Cancelled);
    } else {
      co_await recv_token(node, NodeId(0));
      co_await node.endpoint.retire(GroupId(1), now);
    }
    const Tag later = tag_of(now.next(), 1);
    if (node.id == NodeId(0)) {
      co_await send_message(node, NodeId(1), later, 2, kEager + 1);
    } else {
      co_await recv_message(node, NodeId(0), later, 2, kEager + 1);
    }
    co_await finish(node, everyone(2));
  });
}

// A message is cancelled and received at the same time, repeatedly: the receiver gets the whole
// message or nothing, and after retire() the sender may overwrite its range.
TEST_P(EndpointCancel, ASendCancelledWhileItIsReceivedArrivesWholeOrNotAtAll) {
  constexpr std::uint32_t kRounds = 12;
  ByteVector out(kSlices);
  ByteVector in(kSlices);
  world->run(2, [&](Node& node) -> Task<void> {
    Generation now = co_await first_generation(node);
    for (std::uint32_t round = 0; round < kRounds; ++round, now = now.next()) {
      const Context context = co_await current();
      TaskGroup group(context);
      const Tag tag = tag_of(now, 1);
      if (node.id == NodeId(0)) {
        out = message(NodeId(0), NodeId(1), round, kSlices);
        group.spawn(send_range(node, NodeId(1), tag, whole(out)));
        for (std::uint32_t turn = 0; turn < round % 4; ++turn) co_await pause(node);
        group.cancel();
        co_await group.join();
        co_await send_token(node, NodeId(1), 1);
        co_await recv_token(node, NodeId(1), 2);
        co_await node.endpoint.retire(GroupId(1), now);
        wipe(out);
      } else {
        wipe(in);
        bool whole_message = false;
        group.spawn(recv_and_tell(node, NodeId(0), tag, room(in), whole_message));
        co_await recv_token(node, NodeId(0), 1);
        group.cancel();
        co_await group.join();
        co_await node.endpoint.retire(GroupId(1), now);
        if (whole_message) {
          EXPECT_EQ(difference(in, NodeId(0), NodeId(1), round), "") << "round " << round;
        }
        co_await send_token(node, NodeId(0), 2);
      }
    }
    co_await finish(node, everyone(2));
  });
}

// The receiver cancels: the sender's operation ends, and after retire() the room is not written any
// more.
TEST_P(EndpointCancel, AReceiveCancelledInTheMiddleFreesItsSenderAndItsRoom) {
  constexpr std::uint32_t kRounds = 8;
  ByteVector out(kSlices);
  ByteVector in(kSlices);
  world->run(2, [&](Node& node) -> Task<void> {
    Generation now = co_await first_generation(node);
    for (std::uint32_t round = 0; round < kRounds; ++round, now = now.next()) {
      const Context context = co_await current();
      TaskGroup group(context);
      const Tag tag = tag_of(now, 1);
      if (node.id == NodeId(0)) {
        out = message(NodeId(0), NodeId(1), round, kSlices);
        co_await node.endpoint.send(NodeId(1), tag, whole(out));  // Ends, delivered or dropped.
        wipe(out);
        co_await recv_token(node, NodeId(1));
        co_await node.endpoint.retire(GroupId(1), now);
      } else {
        group.spawn(recv_range(node, NodeId(0), tag, room(in)));
        for (std::uint32_t turn = 0; turn < round % 4; ++turn) co_await pause(node);
        group.cancel();
        co_await group.join();
        co_await node.endpoint.retire(GroupId(1), now);
        wipe(in);
        co_await pause(node);
        EXPECT_TRUE(untouched(in)) << "round " << round;
        co_await send_token(node, NodeId(0));
      }
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointCancel, RetireCancelsWhatStillWaits) {
  ByteVector out = message(NodeId(0), NodeId(1), 1, kEager + 1);
  std::array<ByteVector, 2> in{ByteVector(8), ByteVector(8)};
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    const NodeId other(1 - node.id.value());
    const Context context = co_await current();
    TaskGroup sends(context);
    TaskGroup receives(context);
    if (node.id == NodeId(0)) sends.spawn(send_range(node, other, tag_of(now, 1), whole(out)));
    receives.spawn(recv_range(node, other, tag_of(now, 2), room(in[node.id.value()])));
    co_await pause(node);
    co_await node.endpoint.retire(GroupId(1), now);
    EXPECT_THROW(co_await receives.join(), Cancelled);
    if (node.id == NodeId(0)) {
      // A world may have buffered the message and completed the send.
      try {
        co_await sends.join();
      } catch (const Cancelled&) {
      }
    }
    co_await finish(node, everyone(2));
  });
}

// If one of several operations fails, the others are cancelled, and its error is thrown.
TEST_P(EndpointCancel, AFailureInAllCancelsTheOthers) {
  std::array<ByteVector, 2> rooms{ByteVector(9), ByteVector(100)};
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == NodeId(0)) {
      EXPECT_THROW(
          co_await all(node.endpoint.recv(from(NodeId(1), tag_of(now, 1)), room(rooms[0])),
                       node.endpoint.recv(from(NodeId(1), tag_of(now, 2)), room(rooms[1]))),
          Corrupt);
      co_await send_token(node, NodeId(1));
      co_await recv_message(node, NodeId(1), tag_of(now, 2), 2, 100);
    } else {
      co_await send_message(node, NodeId(0), tag_of(now, 1), 1, 10);  // One too many.
      co_await recv_token(node, NodeId(0));
      co_await send_message(node, NodeId(0), tag_of(now, 2), 2, 100);
    }
    co_await finish(node, everyone(2));
  });
}

}  // namespace
}  // namespace shoal
