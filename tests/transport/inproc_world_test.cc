// InprocWorld: lives and views of nodes on several threads, and the handling of a hang.
#include "transport/inproc_world.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "conformance/messages.h"
#include "runtime/range.h"
#include "support/no_files.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using How = NodeEnd::How;

InprocWorld::MakeFiles no_files() {
  return [](Env&, NodeId) { return std::make_unique<NoFiles>(); };
}

InprocOptions options_for(std::size_t nodes, std::size_t loops) {
  InprocOptions options;
  options.nodes = nodes;
  options.loops = loops;
  options.limit = 30s;
  return options;
}

const NodeEnd& end_of(const std::vector<NodeEnd>& ends, NodeId node, Incarnation incarnation) {
  for (const NodeEnd& end : ends)
    if (end.node == node && end.incarnation == incarnation) return end;
  throw Error(fmt::format("node {}.{} has no end", node, incarnation));
}

// Waits for the first view that contains that life of the node.
Task<void> see(Node& node, NodeId other, Incarnation incarnation) {
  while (!node.membership.now().has(other, incarnation))
    co_await node.membership.after(node.membership.now().generation);
}
Task<void> see_without(Node& node, NodeId other) {
  while (node.membership.now().find(other) != nullptr)
    co_await node.membership.after(node.membership.now().generation);
}

TEST(InprocWorld, TheFirstViewHasAllNodesInOrder) {
  InprocOptions options = options_for(4, 3);
  options.role = [](NodeId node) { return node == NodeId(3) ? Role::Server : Role::Worker; };
  InprocWorld world(options, no_files());
  const auto ends = world.run([](Node& node) -> Task<void> {
    const ViewPtr view = co_await node.membership.after(Generation(0));
    EXPECT_EQ(view->generation, Generation(1));
    EXPECT_EQ(view->size(), 4U);
    EXPECT_EQ(view->rank_of(node.id), Rank(node.id.value()));
    EXPECT_EQ(view->find(NodeId(3))->role, Role::Server);
    EXPECT_EQ(node.incarnation, Incarnation(1));
    co_await finish(node, everyone(4));
  });
  EXPECT_EQ(ends.size(), 4U);
  for (const NodeEnd& end : ends) EXPECT_EQ(end.how, How::Returned);
  rethrow_failure(ends);
}

TEST(InprocWorld, WhoReturnsLeavesAndTheOthersSeeAViewWithoutIt) {
  InprocWorld world(options_for(3, 3), no_files());
  const auto ends = world.run([](Node& node) -> Task<void> {
    co_await first_generation(node);
    if (node.id == NodeId(2)) co_return;
    co_await see_without(node, NodeId(2));
    EXPECT_GT(node.membership.now().generation, Generation(1));
    EXPECT_THROW(co_await send_token(node, NodeId(2)), PeerLost);
    co_await finish(node, everyone(2));
  });
  rethrow_failure(ends);
}

TEST(InprocWorld, AFailedProgramIsACrashToTheOthersAndItsErrorIsReturned) {
  InprocWorld world(options_for(2, 2), no_files());
  const auto ends = world.run([](Node& node) -> Task<void> {
    co_await first_generation(node);
    if (node.id == NodeId(1)) throw DataError("no such file");
    EXPECT_THROW(co_await recv_token(node, NodeId(1)), PeerLost);
  });
  EXPECT_EQ(end_of(ends, NodeId(0), Incarnation(1)).how, How::Returned);
  EXPECT_EQ(end_of(ends, NodeId(1), Incarnation(1)).how, How::Failed);
  EXPECT_THROW(rethrow_failure(ends), DataError);
}

TEST(InprocWorld, CancelledThatEscapesAProgramIsAFailure) {
  InprocWorld world(options_for(1, 1), no_files());
  const auto ends = world.run([](Node&) -> Task<void> {
    throw Cancelled();
    co_return;
  });
  EXPECT_EQ(ends.at(0).how, How::Failed);
}

TEST(InprocWorld, AKilledNodeComesBackAsTheNextIncarnation) {
  InprocWorld world(options_for(2, 2), no_files());
  const auto ends = world.run([&](Node& node) -> Task<void> {
    const Tag tag = tag_of(Generation(0), 1);
    co_await first_generation(node);
    if (node.id == NodeId(1)) {
      co_await send_message(node, NodeId(0), tag, node.incarnation.value(), 10);
      co_await send_token(node, NodeId(0));
      if (node.incarnation == Incarnation(1)) co_await node.env.sleep(1h);
    } else {
      co_await recv_token(node, NodeId(1));
      world.kill(NodeId(1));
      co_await see_without(node, NodeId(1));
      world.restart(NodeId(1));
      co_await see(node, NodeId(1), Incarnation(2));
      // The first life's message was not received, and never will be.
      co_await recv_message(node, NodeId(1), tag, 2, 10);
    }
    co_await finish(node, everyone(2));
  });
  rethrow_failure(ends);
  EXPECT_EQ(end_of(ends, NodeId(1), Incarnation(1)).how, How::Killed);
  EXPECT_EQ(end_of(ends, NodeId(1), Incarnation(2)).how, How::Returned);
}

TEST(InprocWorld, ANodeJoinsLater) {
  InprocWorld world(options_for(2, 2), no_files());
  const auto ends = world.run([&](Node& node) -> Task<void> {
    co_await first_generation(node);
    if (node.id == NodeId(0)) world.restart(NodeId(2));
    co_await see(node, NodeId(2), Incarnation(1));
    EXPECT_EQ(node.membership.now().size(), 3U);
    co_await finish(node, everyone(3));
  });
  rethrow_failure(ends);
  EXPECT_EQ(ends.size(), 3U);
}

TEST(InprocWorld, AnEvictedNodeIsFencedAndRejoins) {
  InprocWorld world(options_for(3, 2), no_files());
  const auto ends = world.run([&](Node& node) -> Task<void> {
    co_await first_generation(node);
    if (node.id == NodeId(0)) world.evict(NodeId(2), "a test evicts it");
    if (node.id == NodeId(2) && node.incarnation == Incarnation(1))
      co_await recv_token(node, NodeId(0), 5);
    co_await see(node, NodeId(2), Incarnation(2));
    co_await finish(node, everyone(3));
  });
  rethrow_failure(ends);
  EXPECT_EQ(end_of(ends, NodeId(2), Incarnation(1)).how, How::Fenced);
  EXPECT_EQ(end_of(ends, NodeId(2), Incarnation(2)).how, How::Returned);
}

TEST(InprocWorld, ANodeKilledBeforeTheFirstViewDoesNotHoldItUpForEver) {
  InprocOptions options = options_for(3, 2);
  options.coordinator.form_limit = 20ms;
  InprocWorld world(options, no_files());
  const auto ends = world.run([&](Node& node) -> Task<void> {
    if (node.id == NodeId(0)) {
      world.kill(NodeId(0));
      co_await node.env.sleep(1h);
    }
    // The test cannot fix which nodes are late for the first view; but every node must get a view.
    co_await first_generation(node);
    co_await see_without(node, NodeId(0));
  });
  rethrow_failure(ends);
  EXPECT_EQ(end_of(ends, NodeId(0), Incarnation(1)).how, How::Killed);
}

TEST(InprocWorld, WorkOnComputeThreadsAndKillInTheMiddleOfIt) {
  InprocOptions options = options_for(4, 2);
  options.compute_threads = true;
  InprocWorld world(options, no_files());
  std::atomic<int> done = 0;
  const auto ends = world.run([&](Node& node) -> Task<void> {
    co_await first_generation(node);
    if (node.id == NodeId(0)) world.kill(NodeId(3));
    for (int i = 0; i < 50; ++i)
      co_await node.env.work(Work::Forward, Elements(1), [&done] { ++done; });
    if (node.id == NodeId(3)) co_await node.env.sleep(1h);
    std::vector<NodeId> who = everyone(3);
    co_await finish(node, std::move(who));
  });
  rethrow_failure(ends);
  EXPECT_GE(done, 150);
  EXPECT_EQ(end_of(ends, NodeId(3), Incarnation(1)).how, How::Killed);
}

TEST(InprocWorld, AHangIsAnErrorThatSaysWhoWaitsForWhom) {
  InprocOptions options = options_for(3, 2);
  options.limit = 1s;
  options.stall_after = 20ms;
  InprocWorld world(options, no_files());
  std::string what;
  testing::internal::CaptureStderr();
  try {
    world.run([](Node& node) -> Task<void> {
      co_await first_generation(node);
      if (node.id == NodeId(1)) co_await recv_token(node, NodeId(2), 0x42);
      if (node.id == NodeId(2)) co_await node.env.sleep(1h);
    });
  } catch (const Error& error) {
    what = error.what();
  }
  const std::string dump = testing::internal::GetCapturedStderr();
  EXPECT_NE(what.find("still running: 1.1 2.1"), std::string::npos) << what;
  const std::string line =
      "node 1.1 waits to receive 0 bytes from node 2: group 1 generation 0 id 0xffff0042";
  EXPECT_NE(dump.find(line), std::string::npos) << dump;
  EXPECT_NE(dump.find("stalled for"), std::string::npos) << dump;
  EXPECT_NE(dump.find("recv posted"), std::string::npos) << dump;
}

// Peers borrow an optimizer's slots for as long as a step takes.
TEST(InprocWorld, WhatIsLentForLongIsNoHang) {
  const auto report = [](bool lent) {
    InprocOptions options = options_for(2, 2);
    options.stall_after = 20ms;
    InprocWorld world(options, no_files());
    testing::internal::CaptureStderr();
    const auto ends = world.run([lent](Node& node) -> Task<void> {
      const Generation generation = co_await first_generation(node);
      const Tag tag{GroupId(1), generation, 7};
      Arena range(node.endpoint, Elements(1 << 20), Substance::Real);
      if (node.id == NodeId(0)) {
        SendOp loan = lent ? node.endpoint.lend(NodeId(1), tag, range.bytes())
                           : node.endpoint.publish(NodeId(1), tag, range.bytes());
        co_await loan;
      } else {
        const Match match{.from = NodeId(0), .tag = tag};
        const Reading there = co_await node.endpoint.read(match);
        co_await node.env.sleep(200ms);
      }
      co_await finish(node, everyone(2));
    });
    std::string said = testing::internal::GetCapturedStderr();
    rethrow_failure(ends);
    return said;
  };
  EXPECT_NE(report(false).find("waits for node 1 to take 4194304 bytes"), std::string::npos);
  EXPECT_EQ(report(true).find("waits for node 1 to take 4194304 bytes"), std::string::npos);
}

TEST(InprocWorld, ASignalDumpsTheRecorderOfARunThatGoesOn) {
  sigset_t before;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &before), 0);
  InprocOptions options = options_for(2, 2);
  options.compute_threads = true;
  options.dump_signal = SIGUSR1;
  InprocWorld world(options, no_files());
  testing::internal::CaptureStderr();
  const auto ends = world.run([](Node& node) -> Task<void> {
    co_await first_generation(node);
    if (node.id == NodeId(0)) {
      kill(getpid(), SIGUSR1);
      const auto pending = [] {
        sigset_t set;
        return sigpending(&set) == 0 && sigismember(&set, SIGUSR1) == 1;
      };
      while (pending()) co_await node.env.sleep(0ns);  // until the loop has processed it
    }
    co_await finish(node, everyone(2));
  });
  const std::string dump = testing::internal::GetCapturedStderr();
  rethrow_failure(ends);
  EXPECT_NE(dump.find("node started"), std::string::npos) << dump;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

TEST(InprocWorld, TheRecorderHasTheStory) {
  InprocWorld world(options_for(2, 2), no_files());
  rethrow_failure(world.run([](Node& node) -> Task<void> {
    co_await first_generation(node);
    co_await finish(node, everyone(2));
  }));
  std::set<EventKind> kinds;
  for (const Event& event : world.recorder(1).last(NodeId(1))) kinds.insert(event.kind);
  for (const EventKind kind : {EventKind::NodeStarted, EventKind::ViewSeen, EventKind::SendPosted,
                               EventKind::SendDone, EventKind::RecvPosted})
    EXPECT_TRUE(kinds.contains(kind)) << to_string(kind);
}

// All nodes send to each other at random while node 0 kills and restarts the others. Received
// messages are intact; all operations end; all nodes end.
struct Storm {
  InprocWorld* world;
  std::size_t nodes;
  std::atomic<std::uint64_t> received = 0;
  std::atomic<std::uint64_t> lost = 0;
};

constexpr std::size_t kStormRoom = 300'000;

Task<void> storm_receive(Node& node, Storm& storm) {
  ByteVector in(kStormRoom);
  Match match = from(kAnyone, tag_of(Generation(0), 0));
  match.mask = 0;
  while (true) {
    const Received r = co_await node.endpoint.recv(match, room(in));
    const std::span<const std::byte> bytes(in.data(), r.size.value());
    EXPECT_EQ(difference(bytes, r.from, node.id, r.id), "");
    ++storm.received;
  }
}

Task<void> storm_send(Node& node, Storm& storm, TaskGroup& group) {
  Random random(Seed(node.id.value() * 100 + node.incarnation.value()), Purpose::Test);
  for (std::uint64_t number = 0; number < 40; ++number) {
    const NodeId to = node_id(random.below(storm.nodes));
    const auto size =
        static_cast<std::size_t>(random.below(random.chance(0.5) ? 2000 : kStormRoom));
    const bool known = node.membership.now().find(to) != nullptr;
    if (node.id == NodeId(0) && number % 6 == 5) {
      const NodeId victim = node_id(1 + random.below(storm.nodes - 1));
      if (random.chance(0.7)) {
        storm.world->restart(victim);
      } else {
        storm.world->kill(victim);
      }
    }
    if (!known) continue;
    try {
      co_await send_message(node, to, tag_of(Generation(0), number), number, size);
    } catch (const PeerLost& peer) {
      EXPECT_EQ(peer.peer(), to);
      ++storm.lost;
    }
  }
  group.cancel();
}

TEST(InprocWorld, AStormOfMessagesKillsAndRestarts) {
  for (const std::size_t loops : {std::size_t{1}, std::size_t{3}}) {
    constexpr std::size_t kNodes = 6;
    InprocWorld world(options_for(kNodes, loops), no_files());
    Storm storm{&world, kNodes};
    const auto ends = world.run([&](Node& node) -> Task<void> {
      co_await first_generation(node);
      co_await with_group([&](TaskGroup& group) -> Task<void> {
        group.spawn(storm_receive(node, storm));
        group.spawn(storm_send(node, storm, group));
        co_return;
      });
    });
    rethrow_failure(ends);
    EXPECT_GT(ends.size(), kNodes);  // There were restarts.
    EXPECT_GT(storm.received, 0U);
  }
}

}  // namespace
}  // namespace shoal
