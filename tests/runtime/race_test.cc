#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "harness.h"
#include "runtime/channel.h"
#include "runtime/task_group.h"
#include "support/inline_env.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

class RaceTest : public RuntimeTest {
 protected:
  Task<> race_them() {
    auto winner = co_await race(a.wait(), b.wait());
    place = winner.index();
    value = winner.index() == 0 ? std::get<0>(winner) : std::get<1>(winner);
  }
  Trigger a;
  Trigger b;
  std::size_t place = 99;
  int value = 0;
};

TEST_F(RaceTest, TheFirstToEndWinsAndTheOtherIsCancelled) {
  Watched& task = start(race_them());
  b.complete(5);
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_EQ(place, 1U);
  EXPECT_EQ(value, 5);
  EXPECT_EQ(a.aborts, 1);
}

TEST_F(RaceTest, EndsOnlyWhenTheLoserHas) {
  a.refuses = true;
  Watched& task = start(race_them());
  b.complete(5);
  run();
  EXPECT_FALSE(task.done());
  a.complete(7);
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_EQ(place, 1U);
}

TEST_F(RaceTest, OfTwoThatEndInOneTurnTheFirstWins) {
  a.at_once = 1;
  b.at_once = 2;
  EXPECT_TRUE(start(race_them()).ok());
  EXPECT_EQ(place, 0U);
  EXPECT_EQ(value, 1);
}

TEST_F(RaceTest, AnErrorIsThrownAndCancelsTheOthers) {
  Watched& task = start(race_them());
  a.fail("a broke");
  run();
  EXPECT_EQ(task.error(), "a broke");
  EXPECT_EQ(b.aborts, 1);
}

TEST_F(RaceTest, CancelledFromOutsideIsCancelled) {
  Watched& task = start(race_them());
  task.cancel();
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_EQ(place, 99U);
}

TEST_F(RaceTest, StartedInACancelledScopeIsCancelled) {
  Trigger before;
  Watched& task = start([](Trigger& first, Task<> then) -> Task<> {
    co_await first.wait();
    co_await std::move(then);
  }(before, race_them()));
  before.complete(0);
  task.cancel();
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_EQ(a.starts + b.starts, 0);
}

TEST_F(RaceTest, ALoserThatFailsWhileItEndsIsHeard) {
  a.refuses = true;
  Watched& task = start(race_them());
  b.complete(5);
  run();
  a.fail("a broke on the way out");
  run();
  EXPECT_EQ(task.error(), "a broke on the way out");
}

TEST_F(RaceTest, TasksOperationsAndVoidMix) {
  Signal signal;
  bool ok = false;
  Watched& task = start([](Signal& s, Trigger& t, bool& out) -> Task<> {
    auto winner = co_await race(s.wait(), as_task(t.wait()), []() -> Task<std::unique_ptr<int>> {
      co_return std::make_unique<int>(3);
    }());
    static_assert(
        std::is_same_v<decltype(winner), std::variant<std::monostate, int, std::unique_ptr<int>>>);
    out = winner.index() == 2 && *std::get<2>(winner) == 3;
  }(signal, a, ok));
  EXPECT_TRUE(task.ok());
  EXPECT_TRUE(ok);
  EXPECT_EQ(a.aborts, 1);
}

class TimeoutTest : public RuntimeTest {
 protected:
  TimeoutTest() { env.manual = true; }
  Task<> limited() { result = co_await timeout(env, 10ms, trigger.wait()); }
  Task<> limited_void() { in_time = co_await timeout(env, 10ms, signal.wait()); }
  void advance(Duration d) {
    env.advance(d);
    run();
  }
  InlineEnv env;
  Trigger trigger;
  Signal signal;
  std::optional<int> result;
  bool in_time = false;
};

TEST_F(TimeoutTest, GivesTheValueWhenInTime) {
  Watched& task = start(limited());
  advance(9ms);
  trigger.complete(4);
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_EQ(result, 4);
  advance(1h);  // The timer is gone.
}

TEST_F(TimeoutTest, GivesNothingWhenTheTimeIsUp) {
  result = 1;
  Watched& task = start(limited());
  advance(10ms);
  EXPECT_TRUE(task.ok());
  EXPECT_EQ(result, std::nullopt);
  EXPECT_EQ(trigger.aborts, 1);
}

TEST_F(TimeoutTest, OfVoidSaysWhetherItWasInTime) {
  Watched& first = start(limited_void());
  signal.notify_all();
  run();
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(in_time);
  Watched& second = start(limited_void());
  advance(10ms);
  EXPECT_TRUE(second.ok());
  EXPECT_FALSE(in_time);
}

TEST_F(TimeoutTest, ThrowsTheErrorOfWhatItLimits) {
  Watched& task = start(limited());
  trigger.fail("broken");
  run();
  EXPECT_EQ(task.error(), "broken");
}

TEST_F(TimeoutTest, CancelledFromOutsideThrows) {
  Watched& task = start(limited());
  task.cancel();
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_EQ(trigger.aborts, 1);
}

}  // namespace
}  // namespace shoal
