// Properties of the in-process endpoint only: raw frames, fencing by answer, and its state machine.
// tests/conformance has the rest.
#include "transport/inproc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "conformance/messages.h"
#include "runtime/live/live_env.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr NodeId kMallory(0);
constexpr NodeId kBob(1);
constexpr NodeId kCarol(2);

// Three endpoints on one loop, all in view 1.
class InprocFrames : public testing::Test {
 protected:
  struct Peer {
    Peer(InprocNet& net, LiveLoop& loop, NodeId id)
        : env(loop, {.node = id, .incarnation = Incarnation(1)}),
          endpoint(net, loop, env, id, Incarnation(1)) {}
    LiveEnv env;
    InprocEndpoint endpoint;
  };
  InprocFrames() {
    View view;
    view.generation = Generation(1);
    for (const NodeId id : {kMallory, kBob, kCarol}) {
      Member member;
      member.node = id;
      member.incarnation = Incarnation(1);
      view.members.push_back(member);
      peers.push_back(std::make_unique<Peer>(net, loop, id));
    }
    const auto shared = std::make_shared<const View>(view);
    for (auto& peer : peers) peer->endpoint.adopt(shared);
  }
  InprocEndpoint& endpoint(NodeId id) { return peers.at(id.value())->endpoint; }

  LiveLoop loop;
  InprocNet net;
  std::vector<std::unique_ptr<Peer>> peers;
};

std::vector<std::byte> frame_of(const Header& header, std::size_t payload) {
  const HeaderBytes head = encode_header(header);
  std::vector<std::byte> frame(head.begin(), head.end());
  frame.resize(kHeaderSize + payload);
  return frame;
}

Header good_header(std::size_t size) {
  Header h;
  h.source = kMallory;
  h.incarnation = Incarnation(1);
  h.target = kBob;
  h.target_incarnation = Incarnation(1);
  h.tag = tag_of(Generation(1), 1);
  h.size = Bytes(size);
  return h;
}

// Sets `why` to the reason of the failure; empty if the receive did not fail.
Task<void> receive(InprocEndpoint& endpoint, NodeId sender, std::string& why, Bytes& size) {
  ByteVector in(64);
  try {
    const Received r = co_await endpoint.recv(from(sender, tag_of(Generation(1), 1)), room(in));
    size = r.size;
  } catch (const PeerLost& lost) {
    EXPECT_EQ(lost.peer(), sender);
    why = lost.what();
  } catch (const Fenced& fenced) {
    why = fenced.what();
  }
}

struct BadFrame {
  const char* name;
  std::vector<std::byte> frame;
  const char* complaint;
};

std::vector<BadFrame> bad_frames() {
  std::vector<BadFrame> bad;
  const auto add = [&](const char* name, const char* complaint, auto change, std::size_t payload) {
    Header header = good_header(10);
    std::vector<std::byte> frame = frame_of(header, payload);
    change(header, frame);
    bad.push_back({name, std::move(frame), complaint});
  };
  const auto with_header = [](auto change) {
    return [change](Header& h, std::vector<std::byte>& frame) {
      change(h);
      frame = frame_of(h, frame.size() - kHeaderSize);
    };
  };
  using Frame = std::vector<std::byte>;
  add(
      "empty", "too short", [](Header&, Frame& f) { f.clear(); }, 10);
  add(
      "truncated", "too short", [](Header&, Frame& f) { f.resize(63); }, 10);
  add(
      "magic", "magic", [](Header&, Frame& f) { f[0] ^= std::byte{1}; }, 10);
  add(
      "version", "version", [](Header&, Frame& f) { f[4] ^= std::byte{8}; }, 10);
  add(
      "checksum", "checksum", [](Header&, Frame& f) { f[60] ^= std::byte{8}; }, 10);
  add(
      "bit", "checksum", [](Header&, Frame& f) { f[40] ^= std::byte{1}; }, 10);
  add(
      "short payload", "promises", [](Header&, Frame&) {}, 9);
  add(
      "long payload", "promises", [](Header&, Frame&) {}, 11);
  add("source", "claims to be", with_header([](Header& h) { h.source = kCarol; }), 10);
  add("incarnation", "claims to be", with_header([](Header& h) { h.incarnation = Incarnation(2); }),
      10);
  add("target", "it is for", with_header([](Header& h) { h.target = kCarol; }), 10);
  add("life of the target", "it is for",
      with_header([](Header& h) { h.target_incarnation = Incarnation(9); }), 10);
  add("sequence", "instead of", with_header([](Header& h) { h.sequence = 1; }), 10);
  add("size", "more than", with_header([](Header& h) { h.size = Bytes(~std::uint64_t{0}); }), 10);
  return bad;
}

TEST_F(InprocFrames, AGoodRawFrameIsReceived) {
  std::string why;
  Bytes size;
  net.deliver_raw(kMallory, kBob, frame_of(good_header(10), 10));
  run_task(loop, receive(endpoint(kBob), kMallory, why, size));
  EXPECT_EQ(why, "");
  EXPECT_EQ(size, Bytes(10));
}

class InprocBadFrames : public InprocFrames, public testing::WithParamInterface<std::size_t> {};

// Bob loses the sender, by name and with the reason; Mallory is told; Bob and Carol continue.
TEST_P(InprocBadFrames, ThePeerThatSentItIsLostAndNothingElse) {
  const BadFrame bad = bad_frames().at(GetParam());
  std::string before, after, told, carols;
  Bytes size;
  run_task(loop, with_group([&](TaskGroup& group) -> Task<void> {
             group.spawn(receive(endpoint(kBob), kMallory, before, size));  // waits when it arrives
             group.spawn(receive(endpoint(kMallory), kBob, told, size));
             co_await peers[0]->env.sleep(0ns);
             net.deliver_raw(kMallory, kBob, bad.frame);
           }));
  run_task(loop, receive(endpoint(kBob), kMallory, after, size));
  EXPECT_NE(before.find("node 0"), std::string::npos) << before;
  EXPECT_NE(before.find(bad.complaint), std::string::npos) << before;
  EXPECT_EQ(after, before);
  EXPECT_NE(told.find("node 1 cut the connection"), std::string::npos) << told;

  const auto hello = [](InprocEndpoint& carol) -> Task<void> {
    const ByteVector out(10);
    co_await carol.send(kBob, tag_of(Generation(1), 1), whole(out));
  };
  run_task(loop, hello(endpoint(kCarol)));
  run_task(loop, receive(endpoint(kBob), kCarol, carols, size));
  EXPECT_EQ(carols, "");
}

INSTANTIATE_TEST_SUITE_P(All, InprocBadFrames, testing::Range(std::size_t{0}, bad_frames().size()),
                         [](const testing::TestParamInfo<std::size_t>& frame) {
                           std::string name = bad_frames().at(frame.param).name;
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

// Random damage: either it is harmless, or the peer is lost. Nothing crashes or hangs.
TEST_F(InprocFrames, RandomDamageNeverHangsAReceive) {
  Random random(Seed(7), Purpose::Test);
  for (int i = 0; i < 2000; ++i) {
    LiveEnv env(loop, {.node = kBob, .incarnation = Incarnation(1)});
    InprocNet own;
    InprocEndpoint mallory(own, loop, env, kMallory, Incarnation(1));
    InprocEndpoint bob(own, loop, env, kBob, Incarnation(1));
    std::vector<std::byte> frame = frame_of(good_header(10), 10);
    for (std::uint64_t hits = random.between(1, 4); hits > 0; --hits) {
      if (frame.empty() || random.chance(0.2)) {
        frame.resize(random.below(100));
      } else {
        frame[random.below(frame.size())] ^= static_cast<std::byte>(1U << random.below(8));
      }
    }
    own.deliver_raw(kMallory, kBob, std::move(frame));
    std::string why;
    Bytes size;
    run_task(loop, receive(bob, kMallory, why, size));
    if (why.empty()) {
      EXPECT_EQ(size, Bytes(10));
    }
  }
}

// Bob's view does not contain Mallory any more, and Mallory has not been told: the first peer that
// it sends to answers Fenced. Small messages end at once, so the next operation fails.
TEST_F(InprocFrames, AnEvictedNodesNextMessageIsAnsweredFenced) {
  View next;
  next.generation = Generation(2);
  for (const NodeId id : {kBob, kCarol}) {
    Member member;
    member.node = id;
    member.incarnation = Incarnation(1);
    next.members.push_back(member);
  }
  endpoint(kBob).adopt(std::make_shared<const View>(next));
  std::string hook;
  endpoint(kMallory).on_fenced([&](const std::string& why) { hook = why; });
  const auto talk = [](InprocEndpoint& mallory, std::size_t size) -> Task<void> {
    const ByteVector out(size);
    co_await mallory.send(kBob, tag_of(Generation(0), 1), whole(out));
    ByteVector in(1);
    co_await mallory.recv(from(kCarol, tag_of(Generation(0), 1)), room(in));
  };
  EXPECT_THROW(run_task(loop, talk(endpoint(kMallory), 10)), Fenced);
  EXPECT_NE(hook.find("node 1"), std::string::npos) << hook;
  EXPECT_THROW(run_task(loop, talk(endpoint(kMallory), kLarge)), Fenced);
}

TEST_F(InprocFrames, ALargeMessageOfAnEvictedNodeIsAnsweredFenced) {
  View next;
  next.generation = Generation(2);
  Member member;
  member.node = kBob;
  member.incarnation = Incarnation(1);
  next.members.push_back(member);
  endpoint(kBob).adopt(std::make_shared<const View>(next));
  const auto talk = [](InprocEndpoint& mallory) -> Task<void> {
    const ByteVector out(kLarge);
    co_await mallory.send(kBob, tag_of(Generation(0), 1), whole(out));
  };
  EXPECT_THROW(run_task(loop, talk(endpoint(kMallory))), Fenced);
}

// The first of two messages is cancelled before it arrives. The second goes to the receive that was
// posted first, which has kept its place.
TEST_F(InprocFrames, AMessageTakenBackLeavesTheReceiveItsPlace) {
  const ByteVector large(kEager + 1, std::byte{1});
  const ByteVector small(3, std::byte{2});
  ByteVector first(kEager + 1), second(kEager + 1);
  std::vector<int> order;
  const auto recv = [&order](InprocEndpoint& bob, ByteVector& in, int name) -> Task<void> {
    co_await bob.recv(from(kMallory, tag_of(Generation(1), 1)), room(in));
    order.push_back(name);
  };
  const auto send = [](InprocEndpoint& mallory, const ByteVector& out) -> Task<void> {
    co_await mallory.send(kBob, tag_of(Generation(1), 1), whole(out));
  };
  run_task(loop, with_group([&](TaskGroup& group) -> Task<void> {
             group.spawn(recv(endpoint(kBob), first, 1));
             group.spawn(recv(endpoint(kBob), second, 2));
             co_await peers[0]->env.sleep(0ns);
             co_await race(send(endpoint(kMallory), large), send(endpoint(kMallory), small));
             co_await send(endpoint(kMallory), small);
           }));
  EXPECT_EQ(order, (std::vector{1, 2}));
  EXPECT_EQ(first[0], std::byte{2});
}

// A phantom has a size and no bytes: it costs its messages and nothing is copied.
TEST_F(InprocFrames, PhantomsTravelWithoutBytes) {
  for (const std::uint64_t size : {std::uint64_t{100}, std::uint64_t{1} << 35U}) {
    const auto both = [](InprocEndpoint& mallory, InprocEndpoint& bob, Bytes n) -> Task<void> {
      auto result =
          co_await all(mallory.send(kBob, tag_of(Generation(1), 2), ConstBuf{nullptr, n}),
                       bob.recv(from(kMallory, tag_of(Generation(1), 2)), MutBuf{nullptr, n}));
      EXPECT_EQ(std::get<1>(result).size, n);
    };
    run_task(loop, both(endpoint(kMallory), endpoint(kBob), Bytes(size)));
  }
}

TEST_F(InprocFrames, WhatIsWaitedForIsToldInWords) {
  const ByteVector large(kEager + 1);
  ByteVector in(8);
  const auto program = [&](TaskGroup& group) -> Task<void> {
    const auto send = [](InprocEndpoint& e, const ByteVector& out) -> Task<void> {
      co_await e.send(kBob, tag_of(Generation(1), 0x10), whole(out));
    };
    const auto recv = [](InprocEndpoint& e, ByteVector& room_) -> Task<void> {
      co_await e.recv(from(kCarol, tag_of(Generation(1), 0x11)), room(room_));
    };
    EXPECT_FALSE(endpoint(kMallory).pending());
    const std::uint64_t before = endpoint(kMallory).progress();
    group.spawn(send(endpoint(kMallory), large));
    group.spawn(recv(endpoint(kMallory), in));
    co_await peers[0]->env.sleep(0ns);
    EXPECT_TRUE(endpoint(kMallory).pending());
    EXPECT_NE(endpoint(kMallory).progress(), before);
    const std::vector<std::string> lines = endpoint(kMallory).waiting();
    EXPECT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines.at(0),
              "node 0.1 waits to receive 8 bytes from node 2: group 1 generation 1 id 0x11");
    EXPECT_EQ(lines.at(1),
              "node 0.1 waits for node 1 to take 8193 bytes: group 1 generation 1 id 0x10");
    group.cancel();
  };
  run_task(loop, with_group(program));
}

}  // namespace
}  // namespace shoal
