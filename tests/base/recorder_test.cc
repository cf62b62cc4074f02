#include "base/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace shoal {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Event event(NodeId node, std::uint64_t a) {
  Event e;
  e.node = node;
  e.kind = EventKind::StepApplied;
  e.a = a;
  return e;
}

std::vector<std::uint64_t> steps(const std::vector<Event>& events) {
  std::vector<std::uint64_t> all;
  for (const Event& e : events) all.push_back(e.a);
  return all;
}

TEST(Recorder, KeepsTheLastOfEachNodeOldestFirst) {
  Recorder recorder(4);
  for (std::uint64_t i = 0; i < 11; ++i) recorder.record(event(NodeId(0), i));
  recorder.record(event(NodeId(2), 100));
  recorder.record(event(kNobody, 200));
  EXPECT_THAT(steps(recorder.last(NodeId(0))), ElementsAre(7, 8, 9, 10));
  EXPECT_THAT(steps(recorder.last(NodeId(1))), ElementsAre());
  EXPECT_THAT(steps(recorder.last(NodeId(2))), ElementsAre(100));
  EXPECT_THAT(steps(recorder.last(kNobody)), ElementsAre(200));
  EXPECT_THAT(steps(recorder.last(NodeId(77))), ElementsAre());
  EXPECT_EQ(recorder.events(), 13U);
}

TEST(Recorder, WrapsAtEveryFillLevel) {
  for (std::uint64_t count = 0; count <= 17; ++count) {
    Recorder recorder(8);
    for (std::uint64_t i = 0; i < count; ++i) recorder.record(event(NodeId(3), i));
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = count > 8 ? count - 8 : 0; i < count; ++i) expected.push_back(i);
    EXPECT_EQ(steps(recorder.last(NodeId(3))), expected) << count << " events";
  }
}

TEST(Recorder, NumbersEventsInOrderWhateverTheyCameWith) {
  Recorder recorder;
  Event e = event(NodeId(0), 1);
  e.sequence = 99;
  recorder.record(e);
  recorder.record(e);
  const std::vector<Event> events = recorder.last(NodeId(0));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].sequence, 0U);
  EXPECT_EQ(events[1].sequence, 1U);
}

TEST(Recorder, DumpMergesTheNodesBySequence) {
  Recorder recorder(8);
  for (std::uint64_t i = 0; i < 4; ++i) {
    recorder.record(event(NodeId(1), 10 + i));
    recorder.record(event(NodeId(0), 20 + i));
  }
  const std::string text = recorder.dump(2);
  EXPECT_THAT(text, HasSubstr("last 2 events of each node, 8 in total"));
  const auto at = [&](const char* what) { return text.find(what); };
  EXPECT_EQ(at("a=11"), std::string::npos) << "older than the last two of node 1";
  ASSERT_NE(at("a=12"), std::string::npos);
  EXPECT_LT(at("a=12"), at("a=22"));
  EXPECT_LT(at("a=22"), at("a=13"));
  EXPECT_LT(at("a=13"), at("a=23"));
}

TEST(Recorder, AnEventSaysWhenWhoWhatAndToWhom) {
  Event e;
  e.at = Time(1500ms);
  e.sequence = 42;
  e.node = NodeId(3);
  e.incarnation = Incarnation(2);
  e.peer = NodeId(5);
  e.generation = Generation(7);
  e.group = GroupId(9);
  e.kind = EventKind::SendPosted;
  e.a = 11;
  e.b = 255;
  e.c = 13;
  const std::string text = describe(e);
  EXPECT_THAT(text, HasSubstr("42     1.500000s node 3.2 send posted"));
  EXPECT_THAT(text, HasSubstr("peer 5 group 9 gen 7 a=11 b=0xff c=13"));
  e.peer = kNobody;
  EXPECT_THAT(describe(e), HasSubstr("peer - "));
}

TEST(Recorder, EveryKindHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (std::size_t kind = 0; kind < kEventKinds; ++kind) {
    const std::string_view name = to_string(static_cast<EventKind>(kind));
    EXPECT_FALSE(name.empty()) << kind;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(Recorder, TheHashChangesWithAnyField) {
  Event base;
  base.at = Time(1ms);
  base.node = NodeId(1);
  base.peer = NodeId(2);
  base.incarnation = Incarnation(3);
  base.generation = Generation(4);
  base.group = GroupId(5);
  base.kind = EventKind::SendDone;
  base.a = 6;
  base.b = 7;
  base.c = 8;
  const std::vector<std::function<void(Event&)>> changes = {
      [](Event&) {},
      [](Event& e) { e.at += 1ns; },
      [](Event& e) { e.node = e.node.next(); },
      [](Event& e) { e.peer = e.peer.next(); },
      [](Event& e) { e.incarnation = e.incarnation.next(); },
      [](Event& e) { e.incarnation = Incarnation(e.incarnation.value() | 1U << 31U); },
      [](Event& e) { e.generation = e.generation.next(); },
      [](Event& e) { e.group = e.group.next(); },
      [](Event& e) { e.kind = EventKind::RecvDone; },
      [](Event& e) { ++e.a; },
      [](Event& e) { ++e.b; },
      [](Event& e) { ++e.c; },
  };
  std::set<std::uint64_t> hashes;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Event changed = base;
    changes[i](changed);
    Recorder recorder;
    recorder.record(changed);
    EXPECT_TRUE(hashes.insert(recorder.hash()).second) << "change " << i << " left no trace";
  }
}

TEST(Recorder, TheHashChangesWithOrderCountAndFinalState) {
  const auto hash_after = [](const std::vector<std::uint64_t>& order) {
    Recorder recorder;
    for (const std::uint64_t a : order) recorder.record(event(NodeId(0), a));
    return recorder.hash();
  };
  EXPECT_EQ(hash_after({1, 2}), hash_after({1, 2}));
  EXPECT_NE(hash_after({1, 2}), hash_after({2, 1}));
  EXPECT_NE(hash_after({1, 2}), hash_after({1, 2, 2}));
  Recorder recorder;
  const std::uint64_t before = recorder.hash();
  recorder.mix(5);
  EXPECT_NE(recorder.hash(), before);
}

TEST(Recorder, WithoutAHashItRecordsAllTheSame) {
  Recorder recorder(4, Recorder::Hashed::No);
  const std::uint64_t before = recorder.hash();
  for (std::uint64_t a = 0; a < 6; ++a) recorder.record(event(NodeId(0), a));
  EXPECT_EQ(recorder.hash(), before);
  EXPECT_EQ(recorder.events(), 6U);
  ASSERT_EQ(recorder.last(NodeId(0)).size(), 4U);
  EXPECT_EQ(recorder.last(NodeId(0)).front().a, 2U);
}

class Counter : public Observer {
 public:
  void on(const Event& e) override { seen.push_back(e.sequence); }
  std::vector<std::uint64_t> seen;
};

TEST(Recorder, ObserversSeeEveryEventWithItsNumber) {
  Recorder recorder(2);
  Counter one;
  recorder.observe(one);
  for (std::uint64_t i = 0; i < 5; ++i) recorder.record(event(NodeId(0), i));
  EXPECT_THAT(one.seen, ElementsAre(0, 1, 2, 3, 4));
}

TEST(RecorderDeathTest, WantsAPowerOfTwo) {
  EXPECT_DEATH(Recorder(12), "depth 12 is not a power of two");
  EXPECT_DEATH(Recorder(0), "depth 0 is not a power of two");
}

}  // namespace
}  // namespace shoal
