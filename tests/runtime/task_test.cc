#include "runtime/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "harness.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;
using TaskTest = RuntimeTest;

Task<int> twice(int x, std::vector<int>& log) {
  log.push_back(x);
  co_return 2 * x;
}
Task<std::unique_ptr<int>> boxed(int x) { co_return std::make_unique<int>(x); }
Task<int> throws(const char* message) {
  throw Error(message);
  co_return 0;
}

TEST_F(TaskTest, StartsOnlyWhenAwaited) {
  std::vector<int> log;
  {
    const Task<int> never = twice(1, log);
    run();
  }
  EXPECT_TRUE(log.empty());
  start([](std::vector<int>& l) -> Task<> {
    Task<int> later = twice(2, l);
    l.push_back(0);
    l.push_back(co_await std::move(later));
  }(log));
  EXPECT_THAT(log, ElementsAre(0, 2, 4));
}

TEST_F(TaskTest, HandsOverValuesThatCannotBeCopied) {
  int got = 0;
  start([](int& out) -> Task<> {
    const std::unique_ptr<int> box = co_await boxed(5);
    out = *box;
  }(got));
  EXPECT_EQ(got, 5);
}

TEST_F(TaskTest, ThrowsIntoWhoeverAwaits) {
  std::string caught;
  Watched& task = start([](std::string& out) -> Task<> {
    try {
      co_await throws("inner");
    } catch (const Error& e) {
      out = e.what();
    }
    co_await throws("outer");
  }(caught));
  EXPECT_EQ(caught, "inner");
  EXPECT_EQ(task.error(), "outer");
}

TEST_F(TaskTest, MayBeMovedBeforeItRuns) {
  std::vector<int> log;
  int got = 0;
  start([](std::vector<int>& l, int& out) -> Task<> {
    Task<int> a = twice(1, l);
    Task<int> b = twice(2, l);
    a = std::move(b);  // frees the first, which never ran
    out = co_await std::move(a);
  }(log, got));
  EXPECT_EQ(got, 4);
  EXPECT_THAT(log, ElementsAre(2));
}

TEST_F(TaskTest, RunsInTheContextOfWhoeverAwaitsIt) {
  Context outer;
  Context inner;
  start([](Context& out, Context& in) -> Task<> {
    out = co_await current();
    co_await [](Context& c) -> Task<> { c = co_await current(); }(in);
  }(outer, inner));
  EXPECT_EQ(outer.executor, &executor);
  EXPECT_NE(outer.scope, nullptr);
  EXPECT_EQ(inner.executor, outer.executor);
  EXPECT_EQ(inner.scope, outer.scope);
}

TEST_F(TaskTest, AwaitsOperationsAsTasks) {
  Trigger trigger;
  std::vector<int> got;
  Watched& task = start([](Trigger& t, std::vector<int>& out) -> Task<> {
    out.push_back(co_await as_task(t.wait()));
    out.push_back(co_await as_task(twice(4, out)));
  }(trigger, got));
  trigger.complete(3);
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_THAT(got, ElementsAre(3, 4, 8));
}

Task<> step(int id, std::vector<int>& log) {
  log.push_back(id);
  co_return;
}
Task<> two_steps(int id, std::vector<int>& log) {
  co_await step(id, log);
  co_await step(id, log);
}

TEST_F(TaskTest, TasksTakeTurnsInTheOrderInWhichTheyBecameReady) {
  std::vector<int> log;
  start([](std::vector<int>& l) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      for (int id = 1; id <= 3; ++id) group.spawn(two_steps(id, l));
      co_return;
    });
  }(log));
  EXPECT_THAT(log, ElementsAre(1, 2, 3, 1, 2, 3));
}

using TaskDeathTest = RuntimeTest;

TEST_F(TaskDeathTest, MayNotBeAwaitedTwice) {
  const auto twice_awaited = [this] {
    start([]() -> Task<> {
      std::vector<int> log;
      Task<int> task = twice(1, log);
      co_await std::move(task);
      co_await std::move(task);
    }());
  };
  EXPECT_DEATH(twice_awaited(), "a task was awaited twice");
}

}  // namespace
}  // namespace shoal
