// Endpoint conformance: messages that are read in place.
#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "conformance/messages.h"
#include "conformance/worlds.h"
#include "runtime/range.h"
#include "runtime/stitched_view.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

class EndpointWindow : public InWorld {};
INSTANTIATE_TEST_SUITE_P(Worlds, EndpointWindow, testing::ValuesIn(worlds()), world_name);

std::string difference(const Reading& reading, NodeId reader, std::uint64_t number) {
  return difference(reading.data().bytes(), reading.from(), reader, number);
}

// A message in memory that the endpoint allocated.
struct Published {
  Published(Node& node, NodeId to, std::uint64_t number, std::size_t size)
      : memory(node.endpoint.allocate(Bytes(size))), range{memory.get(), Bytes(size)} {
    const ByteVector bytes = message(node.id, to, number, size);
    if (size > 0) std::memcpy(memory.get(), bytes.data(), size);
  }
  std::shared_ptr<std::byte> memory;
  ConstBuf range;
};

TEST_P(EndpointWindow, EverySizeIsReadWholeWhereverItWasPublishedFrom) {
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    std::uint64_t number = 0;
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{777}, kEager, kEager + 1, kSlices, kLarge}) {
      ++number;
      if (node.id == NodeId(0)) {
        const Published published(node, NodeId(1), number, size);
        co_await node.endpoint.publish(NodeId(1), tag_of(now, number), published.range);
        const ByteVector heap = message(NodeId(0), NodeId(1), number, size);
        co_await node.endpoint.publish(NodeId(1), tag_of(now, number), whole(heap));
        co_await node.endpoint.send(NodeId(1), tag_of(now, number), published.range);
      } else {
        for (int i = 0; i < 3; ++i) {
          const Reading r = co_await node.endpoint.read(from(NodeId(0), tag_of(now, number)));
          EXPECT_EQ(r.from(), NodeId(0));
          EXPECT_EQ(r.size(), Bytes(size));
          EXPECT_EQ(difference(r, node.id, number), "") << size << " bytes";
        }
      }
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointWindow, WhatIsPublishedMayBeReceived) {
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == NodeId(0)) {
      const Published published(node, NodeId(1), 1, kSlices);
      co_await node.endpoint.publish(NodeId(1), tag_of(now, 1), published.range);
    } else {
      co_await recv_message(node, NodeId(0), tag_of(now, 1), 1, kSlices);
    }
    co_await finish(node, everyone(2));
  });
}

Task<void> publish(Node& node, NodeId to, Tag tag, ConstBuf range) {
  co_await node.endpoint.publish(to, tag, range);
}

Task<void> publish_and_tell(Node& node, NodeId to, Tag tag, ConstBuf range, bool& done) {
  co_await node.endpoint.publish(to, tag, range);
  done = true;
}

// A range does not change while any node reads it, whatever else happens; the publisher gets it
// back when the last reader has released it.
TEST_P(EndpointWindow, ARangeIsReadByManyAtOnceAndStaysAsItIsWhileTheyDo) {
  constexpr std::size_t kReaders = 4;
  world->run(kReaders + 1, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == NodeId(0)) {
      const Published published(node, NodeId(7), 1, kSlices);
      const Context context = co_await current();
      TaskGroup group(context);
      std::array<bool, kReaders> done{};
      for (std::size_t n = 0; n < kReaders; ++n)
        group.spawn(
            publish_and_tell(node, node_id(n + 1), tag_of(now, 1), published.range, done[n]));
      co_await group.join();
      for (const bool d : done) EXPECT_TRUE(d);
      std::memset(published.memory.get(), 0, kSlices);  // Free now.
    } else {
      const Reading r = co_await node.endpoint.read(from(NodeId(0), tag_of(now, 1)));
      for (int turn = 0; turn < 3; ++turn) {
        co_await node.env.sleep(1ms);
        EXPECT_EQ(difference(r.data().bytes(), NodeId(0), NodeId(7), 1), "");
      }
    }
    co_await finish(node, everyone(kReaders + 1));
  });
}

TEST_P(EndpointWindow, ACancelledReadTakesNoMessage) {
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    const Tag tag = tag_of(now, 1);
    if (node.id == NodeId(0)) {
      co_await recv_token(node, NodeId(1));
      co_await send_message(node, NodeId(1), tag, 1, kEager + 1);
    } else {
      auto nothing = co_await timeout(node.env, 1ms, node.endpoint.read(from(NodeId(0), tag)));
      EXPECT_FALSE(nothing.has_value());
      co_await send_token(node, NodeId(0));
      co_await recv_message(node, NodeId(0), tag, 1, kEager + 1);
    }
    co_await finish(node, everyone(2));
  });
}

TEST_P(EndpointWindow, WhatIsBeingReadStaysReadableWhenItsPublisherDies) {
  const NodeId victim(1);
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    if (node.id == victim) {
      const Published published(node, NodeId(0), 1, kSlices);
      co_await node.endpoint.publish(NodeId(0), tag_of(now, 1), published.range);
      co_await node.env.sleep(1h);
    }
    {
      const Reading r = co_await node.endpoint.read(from(victim, tag_of(now, 1)));
      EXPECT_EQ(difference(r, node.id, 1), "");
      world->kill(victim);
      co_await node.env.sleep(20ms);
      EXPECT_EQ(difference(r, node.id, 1), "");
    }
    while (node.membership.now().find(victim) != nullptr)
      co_await node.membership.after(node.membership.now().generation);
    EXPECT_THROW(co_await node.endpoint.read(from(victim, tag_of(now, 2))), PeerLost);
  });
}

TEST_P(EndpointWindow, AnArenaOfTheEndpointIsZeroAndItsRangesTravel) {
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    Arena arena(node.endpoint, Elements(100'003), Substance::Real);
    for (const float x : arena.all().data()) EXPECT_EQ(x, 0.0F);
    const Range middle = arena.range(Elements(50'000), Elements(50'000));
    if (node.id == NodeId(0)) {
      for (std::size_t i = 0; i < 50'000; ++i) middle.data()[i] = static_cast<float>(i);
      co_await node.endpoint.publish(NodeId(1), tag_of(now, 1), middle.bytes());
    } else {
      const Reading r = co_await node.endpoint.read(from(NodeId(0), tag_of(now, 1)));
      std::memcpy(middle.data().data(), r.data().data, r.size().value());
      EXPECT_EQ(middle.data()[49'999], 49'999.0F);
    }
    co_await finish(node, everyone(2));
  });
}

// As with workers whose owners keep their parts of the parameters: each writes its part into two
// alternating arrays, and sees the parts of all as one array.
TEST_P(EndpointWindow, PartsOfSeveralAreSeenAsOneArrayStepAfterStep) {
  constexpr Elements kAll{100'003};
  const Cuts parts = {{Elements(0), Elements(40'960)}, {Elements(40'960), Elements(59'043)}};
  world->run(2, [&](Node& node) -> Task<void> {
    const Generation now = co_await first_generation(node);
    const std::size_t own = node.id.value();
    const NodeId other = node_id(1 - own);
    std::deque<Arena> turns;
    std::deque<StitchedView> seen;
    for (int turn = 0; turn < 2; ++turn) {
      turns.emplace_back(node.endpoint, parts[own].n, Substance::Real);
      seen.emplace_back(kAll, Substance::Real);
    }
    for (std::uint64_t step = 0; step < 6; ++step) {
      if (step == 4)
        for (StitchedView& stitched : seen) stitched.forget();
      Arena& made = turns[step % 2];
      for (std::size_t i = 0; i < parts[own].n.value(); ++i)
        made.data()[i] = static_cast<float>(10 * (parts[own].at.value() + i) + step);
      co_await with_group([&](TaskGroup& tasks) -> Task<> {
        tasks.spawn(publish(node, other, tag_of(now, step), made.bytes()));
        const Reading there = co_await node.endpoint.read(from(other, tag_of(now, step)));
        StitchedView& stitched = seen[step % 2];
        co_await stitched.set(node, parts[1 - own],
                              reinterpret_cast<const float*>(there.data().data));
        co_await stitched.set(node, parts[own], made.data());
        const auto all = stitched.all().data();
        EXPECT_EQ(all.size(), kAll.value());
        for (std::size_t i = 0; i < all.size(); i += 997)
          EXPECT_EQ(all[i], static_cast<float>(10 * i + step)) << "step " << step;
        EXPECT_EQ(all.back(), static_cast<float>(10 * (kAll.value() - 1) + step));
      });
    }
    co_await finish(node, everyone(2));
  });
}

}  // namespace
}  // namespace shoal
