#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "harness.h"
#include "runtime/channel.h"
#include "runtime/operation.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;

class AllTest : public RuntimeTest {
 protected:
  Task<> both() {
    const auto results = co_await all(a.wait(), b.wait());
    got = {std::get<0>(results), std::get<1>(results)};
  }
  Task<> three() {
    const auto results = co_await all(a.wait(), b.wait(), c.wait());
    got = {std::get<0>(results), std::get<1>(results), std::get<2>(results)};
  }
  Trigger a;
  Trigger b;
  Trigger c;
  std::vector<int> got;
};

TEST_F(AllTest, CompletesWhenAllHaveInAnyOrder) {
  Watched& task = start(both());
  b.complete(2);
  run();
  EXPECT_FALSE(task.done());
  a.complete(1);
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_THAT(got, ElementsAre(1, 2));
}

TEST_F(AllTest, ThatEndAtOnceDoNotSuspend) {
  a.at_once = 1;
  b.at_once = 2;
  EXPECT_TRUE(start(both()).ok());
  EXPECT_THAT(got, ElementsAre(1, 2));
}

TEST_F(AllTest, OneAtOnceAndOneLater) {
  a.at_once = 1;
  Watched& first = start(both());
  b.complete(2);
  run();
  EXPECT_TRUE(first.ok());
  a.at_once.reset();
  b.at_once = 4;
  Watched& second = start(both());
  a.complete(3);
  run();
  EXPECT_TRUE(second.ok());
  EXPECT_THAT(got, ElementsAre(3, 4));
}

TEST_F(AllTest, AnErrorCancelsTheOthersAndIsThrown) {
  Watched& task = start(three());
  b.fail("b broke");
  EXPECT_FALSE(a.waiting());
  EXPECT_FALSE(c.waiting());
  run();
  EXPECT_EQ(task.error(), "b broke");
  EXPECT_EQ(a.aborts, 1);
  EXPECT_EQ(c.aborts, 1);
}

TEST_F(AllTest, TheRealErrorWinsOverTheCancelledThatComesFirst) {
  Watched& task = start(three());
  c.fail("c broke");  // a and b, which come before it, end with Cancelled
  run();
  EXPECT_EQ(task.error(), "c broke");
}

TEST_F(AllTest, AnErrorAtOnceCancelsWhatWasStartedAndStartsNoMore) {
  b.fails_at_once = true;
  Watched& task = start(three());
  EXPECT_EQ(task.error(), "failed at once");
  EXPECT_EQ(a.aborts, 1);
  EXPECT_EQ(c.starts, 0);
}

TEST_F(AllTest, WaitsForTheOneThatRefusesToAbort) {
  a.refuses = true;
  Watched& task = start(both());
  b.fail("b broke");
  run();
  EXPECT_FALSE(task.done());
  a.complete(1);
  run();
  EXPECT_EQ(task.error(), "b broke");
}

TEST_F(AllTest, OneThatRefusesIsAskedOnce) {
  a.refuses = true;
  c.refuses = true;
  Watched& task = start(three());
  b.fail("b broke");
  c.fail("c broke too");
  task.cancel();
  EXPECT_EQ(a.aborts, 1);
  a.complete(1);
  run();
  EXPECT_EQ(task.error(), "b broke");
}

TEST_F(AllTest, ARefusingOneIsAwaitedAlsoAfterAnErrorAtOnce) {
  a.refuses = true;
  b.fails_at_once = true;
  Watched& task = start(three());
  EXPECT_FALSE(task.done());
  a.complete(1);
  run();
  EXPECT_EQ(task.error(), "failed at once");
  EXPECT_EQ(c.starts, 0);
}

TEST_F(AllTest, CancelEndsAllOnce) {
  Watched& task = start(three());
  task.cancel();
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_EQ(a.aborts, 1);
  EXPECT_EQ(b.aborts, 1);
  EXPECT_EQ(c.aborts, 1);
}

TEST_F(AllTest, CancelWithOneThatRefusesResumesOnce) {
  b.refuses = true;
  Watched& task = start(three());
  task.cancel();
  run();
  EXPECT_FALSE(task.done());
  b.complete(2);
  run();
  EXPECT_EQ(task.error(), "cancelled");
  run();
  EXPECT_TRUE(got.empty());
}

TEST_F(AllTest, InACancelledScopeStartsNothing) {
  Trigger before;
  Watched& task = start([](Trigger& first, Task<> then) -> Task<> {
    co_await first.wait();
    co_await std::move(then);
  }(before, three()));
  before.complete(0);
  task.cancel();
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_EQ(a.starts + b.starts + c.starts, 0);
}

TEST_F(AllTest, ErrorOfTwoInOneTurnIsTheFirstInTheList) {
  a.refuses = true;
  Watched& task = start(both());
  b.fail("b broke");
  a.fail("a broke, later");
  run();
  EXPECT_EQ(task.error(), "a broke, later");
}

TEST_F(AllTest, OfOneIsThatOne) {
  Watched& task = start([](Trigger& t, std::vector<int>& out) -> Task<> {
    const auto result = co_await all(t.wait());
    out.push_back(std::get<0>(result));
  }(a, got));
  a.complete(4);
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_THAT(got, ElementsAre(4));
}

TEST_F(AllTest, VoidResultsAreMonostate) {
  Signal signal;
  Channel<int> channel;
  std::optional<int> value;
  Watched& task = start([](Signal& s, Channel<int>& ch, std::optional<int>& out) -> Task<> {
    auto results = co_await all(s.wait(), ch.next());
    static_assert(
        std::is_same_v<decltype(results), std::tuple<std::monostate, std::optional<int>>>);
    out = std::get<1>(results);
  }(signal, channel, value));
  channel.push(9);
  run();
  EXPECT_FALSE(task.done());
  signal.notify_all();
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_EQ(value, 9);
}

}  // namespace
}  // namespace shoal
