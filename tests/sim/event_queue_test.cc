#include "sim/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

struct Note final : Occurrence {
  std::vector<int>* log = nullptr;
  int number = 0;
  int discarded = 0;
  void happen() override { log->push_back(number); }
  void discard() override { ++discarded; }
};

TEST(EventQueue, HappensInOrderOfTimeAndThenOfScheduling) {
  std::vector<int> log;
  std::vector<Note> notes(2000);
  EventQueue queue;
  Random random(Seed(1), Purpose::Test);
  std::vector<std::pair<Time, int>> expected;
  for (int i = 0; i < 2000; ++i) {
    notes[i].log = &log;
    notes[i].number = i;
    const Time at(Duration(random.below(50)));
    expected.emplace_back(at, i);
    queue.schedule(at, notes[i]);
  }
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  while (!queue.empty()) queue.pop().happen();
  ASSERT_EQ(log.size(), expected.size());
  for (std::size_t i = 0; i < log.size(); ++i) EXPECT_EQ(log[i], expected[i].second) << "at " << i;
}

// Compares with a map, with thousands of insertions and removals: all at one time, evenly spread,
// rare and far away, at every order of magnitude.
TEST(EventQueue, KeepsTheOrderWheneverSomethingIsScheduled) {
  for (int how = 0; how < 4; ++how) {
    Random random(Seed(1), Purpose::Test, static_cast<std::uint64_t>(how));
    const auto delay = [&]() -> Duration {
      if (how == 0) return Duration(random.below(3)) * 1'000'000;
      if (how == 1) return Duration(random.below(1'000'000));
      if (how == 2)
        return Duration(random.chance(0.8) ? random.below(100) : random.below(1U << 31U));
      return Duration(std::int64_t{1} << random.below(50));
    };
    std::vector<Note> notes(100'000);
    std::map<std::pair<Time, int>, Note*> expected;
    EventQueue queue;
    int scheduled = 0;
    for (int i = 0; i < 150'000; ++i) {
      const bool grows = i / 30'000 % 2 == 0;
      if (expected.empty() || (random.chance(grows ? 0.7 : 0.35) && scheduled < 100'000)) {
        const Time at = queue.now() + delay();
        expected[{at, scheduled}] = &notes[scheduled];
        queue.schedule(at, notes[scheduled++]);
      } else {
        ASSERT_EQ(&queue.pop(), expected.begin()->second) << "after " << i;
        ASSERT_EQ(queue.now(), expected.begin()->first.first);
        expected.erase(expected.begin());
      }
      ASSERT_EQ(queue.size(), expected.size());
    }
  }
}

TEST(EventQueue, TimeJumpsToWhatHappens) {
  std::vector<int> log;
  Note note;
  note.log = &log;
  EventQueue queue;
  queue.schedule(Time(3h), note);
  queue.pop();
  EXPECT_EQ(queue.now(), Time(3h));
}

TEST(EventQueue, WhatIsCalledOffIsSweptOutWhenItIsTheMajority) {
  std::vector<Note> notes(5000);
  EventQueue queue;
  for (int i = 0; i < 5000; ++i) queue.schedule(Time(Duration(i)), notes[i]);
  for (int i = 0; i < 4000; ++i) {
    notes[i].called_off = true;
    queue.note_called_off();
  }
  EXPECT_LT(queue.size(), 3000U);
  Occurrence* last = nullptr;
  while (!queue.empty()) {
    Occurrence& next = queue.pop();
    if (!next.called_off && last != nullptr) {
      EXPECT_LT(last, &next);
    }
    if (next.called_off) next.discard();
    if (!next.called_off) last = &next;
  }
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(notes[i].discarded, i < 4000 ? 1 : 0) << i;
}

// The count is a hint: cancelled events may wait at a cut link, outside the queue.
TEST(EventQueue, MoreMayBeCalledOffThanTheQueueHolds) {
  std::vector<int> log;
  std::vector<Note> notes(10);
  EventQueue queue;
  for (int i = 0; i < 10; ++i) {
    notes[i].log = &log;
    queue.schedule(Time(Duration(i)), notes[i]);
  }
  for (int i = 0; i < 5000; ++i) queue.note_called_off();
  EXPECT_EQ(queue.size(), 10U);
  while (!queue.empty()) queue.pop().happen();
  EXPECT_EQ(log.size(), 10U);
}

TEST(EventQueue, WhatIsLeftIsDiscardedWithTheQueue) {
  Note note;
  {
    EventQueue queue;
    queue.schedule(Time(1s), note);
  }
  EXPECT_EQ(note.discarded, 1);
}

TEST(EventQueueDeathTest, ThePastCannotBeScheduled) {
  Note note;
  EventQueue queue;
  queue.schedule(Time(1s), note);
  queue.pop();
  EXPECT_DEATH(queue.schedule(Time(0s), note), "before now");
}

}  // namespace
}  // namespace shoal
