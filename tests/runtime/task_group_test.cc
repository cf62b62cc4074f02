#include "runtime/task_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class TaskGroupTest : public RuntimeTest {
 public:
  // Waits, and logs the outcome.
  Task<> wait(Trigger& trigger, std::string name) {
    try {
      co_await trigger.wait();
    } catch (const Error& e) {
      log.push_back(name + ": " + e.what());
      throw;
    }
    log.push_back(name + ": done");
  }
  Task<> fail(std::string message) {
    throw Error(message);
    co_return;
  }

  Trigger a;
  Trigger b;
  Trigger c;
  std::vector<std::string> log;
};

TEST_F(TaskGroupTest, EndsWhenAllItsTasksHave) {
  Watched& task = start([](TaskGroupTest& t) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(t.wait(t.a, "a"));
      group.spawn(t.wait(t.b, "b"));
      co_return;
    });
    t.log.push_back("joined");
  }(*this));
  b.complete(0);
  run();
  EXPECT_FALSE(task.done());
  a.complete(0);
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_THAT(log, ElementsAre("b: done", "a: done", "joined"));
}

TEST_F(TaskGroupTest, OfNothingEndsAtOnce) {
  EXPECT_TRUE(
      start([]() -> Task<> { co_await with_group([](TaskGroup&) -> Task<> { co_return; }); }())
          .ok());
}

TEST_F(TaskGroupTest, TheFirstErrorCancelsTheSiblingsAndIsThrown) {
  Watched& task = start([](TaskGroupTest& t) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(t.wait(t.a, "a"));
      group.spawn(t.wait(t.b, "b"));
      co_await t.wait(t.c, "c");
    });
  }(*this));
  b.fail("b broke");
  run();
  EXPECT_EQ(task.error(), "b broke");
  EXPECT_THAT(log, UnorderedElementsAre("b: b broke", "a: cancelled", "c: cancelled"));
}

TEST_F(TaskGroupTest, OfTwoErrorsTheFirstCounts) {
  Watched& task = start([](TaskGroupTest& t) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(t.fail("first"));
      group.spawn(t.fail("second"));
      co_return;
    });
  }(*this));
  EXPECT_EQ(task.error(), "first");
}

TEST_F(TaskGroupTest, ARealErrorWinsOverACancelledOperation) {
  b.refuses = true;
  Watched& task = start([](TaskGroupTest& t) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(t.wait(t.b, "b"));
      co_await t.wait(t.a, "a");
    });
  }(*this));
  a.request_cancel();
  run();
  EXPECT_FALSE(task.done()) << "b refuses to end";
  b.fail("b broke because of it");
  run();
  EXPECT_EQ(task.error(), "b broke because of it");
  EXPECT_THAT(log, ElementsAre("a: cancelled", "b: b broke because of it"));
}

TEST_F(TaskGroupTest, AnOperationThatWasCancelledAloneIsAnErrorToo) {
  Watched& task = start([](TaskGroupTest& t) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(t.wait(t.a, "a"));
      co_await t.wait(t.b, "b");
    });
  }(*this));
  a.request_cancel();
  run();
  EXPECT_EQ(task.error(), "cancelled") << "nobody asked the group to end";
  EXPECT_THAT(log, ElementsAre("a: cancelled", "b: cancelled"));
}

TEST_F(TaskGroupTest, AnErrorOfTheBodyWaitsForTheTasks) {
  a.refuses = true;
  Watched& task = start([](TaskGroupTest& t) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(t.wait(t.a, "a"));
      co_await t.fail("the body failed");
    });
  }(*this));
  EXPECT_FALSE(task.done());
  a.complete(0);
  run();
  EXPECT_EQ(task.error(), "the body failed");
  EXPECT_THAT(log, ElementsAre("a: cancelled"));
}

TEST_F(TaskGroupTest, CancelledByItselfEndsWithoutError) {
  Watched& task = start([](TaskGroupTest& t) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(t.wait(t.a, "a"));
      co_await t.b.wait();
      group.cancel();
    });
    t.log.push_back("joined");
  }(*this));
  b.complete(0);
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_THAT(log, ElementsAre("a: cancelled", "joined"));
}

TEST_F(TaskGroupTest, TheParentsCancelReachesItAndIsThrownWhenAllHaveEnded) {
  a.refuses = true;
  Watched& task = start([](TaskGroupTest& t) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(t.wait(t.a, "a"));
      co_await t.wait(t.b, "b");
    });
  }(*this));
  task.cancel();
  run();
  EXPECT_FALSE(task.done());
  EXPECT_THAT(log, ElementsAre("b: cancelled"));
  a.complete(0);
  run();
  EXPECT_EQ(task.error(), "cancelled");
}

// A regression: joining in a scope that was cancelled before threw at once, and the group was
// destroyed under its tasks.
TEST_F(TaskGroupTest, JoinedAfterTheParentWasCancelledStillWaits) {
  a.refuses = true;
  Watched& task = start([](TaskGroupTest& t) -> Task<> {
    const Context context = co_await current();
    TaskGroup group(context);
    group.spawn(t.wait(t.a, "a"));
    bool cancelled = false;
    try {
      co_await t.b.wait();
    } catch (const Cancelled&) {
      cancelled = true;
    }
    EXPECT_TRUE(cancelled);
    co_await group.join();
  }(*this));
  task.cancel();
  run();
  EXPECT_FALSE(task.done());
  a.complete(0);
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_THAT(log, ElementsAre("a: cancelled"));
}

TEST_F(TaskGroupTest, StartedInACancelledScopeRunsToItsFirstWait) {
  Watched& task = start([](TaskGroupTest& t) -> Task<> {
    co_await t.a.wait();
    co_await with_group([&](TaskGroup& group) -> Task<> {
      t.log.push_back("body");
      group.spawn(t.wait(t.b, "b"));
      co_await t.wait(t.c, "c");
    });
  }(*this));
  a.complete(0);
  task.cancel();  // before its turn
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_THAT(log, ElementsAre("body", "b: cancelled", "c: cancelled"));
  EXPECT_EQ(b.starts + c.starts, 0);
}

Task<> family(int depth, TaskGroup& group, int& born) {
  ++born;
  if (depth > 0) {
    group.spawn(family(depth - 1, group, born));
    group.spawn(family(depth - 1, group, born));
  }
  co_return;
}

TEST_F(TaskGroupTest, AChildMaySpawnChildrenInItsGroup) {
  int born = 0;
  Watched& task = start([](int& count) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(family(5, group, count));
      co_return;
    });
  }(born));
  EXPECT_TRUE(task.ok());
  EXPECT_EQ(born, 63);
}

TEST_F(TaskGroupTest, ThousandsOfTasksThatEndLeaveNothingBehind) {
  int ended = 0;
  Watched& task = start([](int& count) -> Task<> {
    const Context context = co_await current();
    TaskGroup group(context);
    for (int i = 0; i < 5'000; ++i) {
      group.spawn([](int& n) -> Task<> {
        ++n;
        co_return;
      }(count));
      if (i % 100 == 99) co_await group.join();
    }
    EXPECT_EQ(group.running(), 0U);
  }(ended));
  EXPECT_TRUE(task.ok());
  EXPECT_EQ(ended, 5'000);
}

TEST_F(TaskGroupTest, MayBeUsedAgainAfterAnErrorWasThrown) {
  Watched& task = start([](TaskGroupTest& t) -> Task<> {
    const Context context = co_await current();
    TaskGroup group(context);
    group.spawn(t.fail("once"));
    std::string caught;
    try {
      co_await group.join();
    } catch (const Error& e) {
      caught = e.what();
    }
    t.log.push_back(caught);
    co_await group.join();  // The error was thrown once.
  }(*this));
  EXPECT_TRUE(task.ok());
  EXPECT_THAT(log, ElementsAre("once"));
}

using TaskGroupDeathTest = TaskGroupTest;

TEST_F(TaskGroupDeathTest, MayNotEndBeforeItsTasks) {
  const auto forgotten = [this] {
    Context context;
    context.executor = &executor;
    TaskGroup group(context);
    group.spawn(wait(a, "a"));
  };
  EXPECT_DEATH(forgotten(), "a task group ended before its tasks");
}

}  // namespace
}  // namespace shoal
