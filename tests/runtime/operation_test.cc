#include "runtime/operation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "harness.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;
using OperationTest = RuntimeTest;

Task<> await_into(Trigger& trigger, std::vector<int>& got) {
  got.push_back(co_await trigger.wait());
}

TEST_F(OperationTest, ResumesWithTheValueWhenItCompletes) {
  Trigger trigger;
  std::vector<int> got;
  Watched& task = start(await_into(trigger, got));
  EXPECT_FALSE(task.done());
  trigger.complete(7);
  EXPECT_FALSE(task.done()) << "completing makes it ready; it runs in its turn";
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_THAT(got, ElementsAre(7));
}

TEST_F(OperationTest, ThatEndsAtOnceDoesNotSuspend) {
  Trigger trigger;
  trigger.at_once = 3;
  std::vector<int> got;
  EXPECT_TRUE(start(await_into(trigger, got)).ok());
  EXPECT_THAT(got, ElementsAre(3));
  trigger.at_once.reset();
  trigger.fails_at_once = true;
  EXPECT_EQ(start(await_into(trigger, got)).error(), "failed at once");
}

TEST_F(OperationTest, ThrowsTheErrorItFailsWith) {
  Trigger trigger;
  std::vector<int> got;
  Watched& task = start(await_into(trigger, got));
  trigger.fail("disk full");
  run();
  EXPECT_EQ(task.error(), "disk full");
  EXPECT_TRUE(got.empty());
}

TEST_F(OperationTest, CancelThrowsAtOnceAndAbortsOnce) {
  Trigger trigger;
  std::vector<int> got;
  Watched& task = start(await_into(trigger, got));
  task.cancel();
  task.cancel();
  EXPECT_FALSE(trigger.waiting());
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_EQ(trigger.aborts, 1);
}

TEST_F(OperationTest, ThatRefusesToAbortIsAwaitedAndThenCancelled) {
  Trigger trigger;
  trigger.refuses = true;
  std::vector<int> got;
  Watched& task = start(await_into(trigger, got));
  task.cancel();
  run();
  EXPECT_FALSE(task.done());
  EXPECT_EQ(trigger.aborts, 1);
  trigger.complete(5);
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_TRUE(got.empty());
}

TEST_F(OperationTest, ThatRefusesAndThenFailsThrowsItsOwnError) {
  Trigger trigger;
  trigger.refuses = true;
  std::vector<int> got;
  Watched& task = start(await_into(trigger, got));
  task.cancel();
  trigger.fail("the function threw");
  run();
  EXPECT_EQ(task.error(), "the function threw");
}

TEST_F(OperationTest, ThatHasCompletedKeepsItsValueWhenCancelledBeforeItsTurn) {
  Trigger trigger;
  std::vector<int> got;
  Watched& task = start(await_into(trigger, got));
  trigger.complete(8);
  task.cancel();
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_THAT(got, ElementsAre(8));
  EXPECT_EQ(trigger.aborts, 0);
}

Task<> await_two(Trigger& first, Trigger& second, std::vector<int>& got) {
  got.push_back(co_await first.wait());
  got.push_back(co_await second.wait());
}

TEST_F(OperationTest, AwaitedInACancelledScopeThrowsWithoutStarting) {
  Trigger first;
  Trigger second;
  std::vector<int> got;
  Watched& task = start(await_two(first, second, got));
  first.complete(1);
  task.cancel();
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_THAT(got, ElementsAre(1));
  EXPECT_EQ(second.starts, 0);
}

Task<> nested(int depth, std::vector<Trigger>& triggers, std::vector<int>& got) {
  co_await with_group([&](TaskGroup& group) -> Task<> {
    if (depth > 0) group.spawn(nested(depth - 1, triggers, got));
    got.push_back(co_await triggers[static_cast<std::size_t>(depth)].wait());
  });
}

TEST_F(OperationTest, CancelReachesAllScopesBelow) {
  std::vector<Trigger> triggers(4);
  std::vector<int> got;
  Watched& task = start(nested(3, triggers, got));
  for (const Trigger& t : triggers) EXPECT_TRUE(t.waiting());
  task.cancel();
  for (const Trigger& t : triggers) EXPECT_FALSE(t.waiting());
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_TRUE(got.empty());
}

Task<> cancel_after(Trigger& trigger, Watched*& other) {
  co_await trigger.wait();
  other->cancel();
}

TEST_F(OperationTest, CancelFromInsideACompletionReachesTheOthers) {
  Trigger trigger;
  Trigger pending;
  std::vector<int> got;
  Watched* other = nullptr;
  Watched& canceller = start(cancel_after(trigger, other));
  Watched& cancelled = start(await_into(pending, got));
  other = &cancelled;
  trigger.complete(1);
  run();
  EXPECT_TRUE(canceller.ok());
  EXPECT_EQ(cancelled.error(), "cancelled");
}

TEST_F(OperationTest, CancelFromInsideAnAbortIsHarmless) {
  Trigger first;
  Trigger second;
  std::vector<int> got;
  Watched* self = nullptr;
  Watched& task = start([](Trigger& a, Trigger& b, std::vector<int>& out) -> Task<> {
    co_await with_group([&](TaskGroup& group) -> Task<> {
      group.spawn(await_into(a, out));
      co_await b.wait();
    });
  }(first, second, got));
  self = &task;
  first.on_abort = [&] { self->cancel(); };
  second.on_abort = [&] { self->cancel(); };
  task.cancel();
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_EQ(first.aborts, 1);
  EXPECT_EQ(second.aborts, 1);
}

TEST_F(OperationTest, LeavesItsSourceWhenItsFrameIsDestroyed) {
  Trigger trigger;
  std::vector<int> got;
  CancelScope scope(nullptr);
  const auto handle = await_into(trigger, got).release();
  handle.promise().context.executor = &executor;
  handle.promise().context.scope = &scope;
  handle.resume();
  EXPECT_TRUE(trigger.waiting());
  handle.destroy();
  EXPECT_FALSE(trigger.waiting());
  EXPECT_EQ(trigger.aborts, 1);
}

TEST_F(OperationTest, AScopeBornInACancelledOneIsCancelled) {
  CancelScope parent(nullptr);
  CancelScope early(&parent);
  parent.cancel();
  CancelScope late(&parent);
  EXPECT_TRUE(early.cancelled());
  EXPECT_TRUE(late.cancelled());
  CancelScope child_of_late(&late);
  EXPECT_TRUE(child_of_late.cancelled());
}

TEST_F(OperationTest, CancellingAChildLeavesItsParentAlone) {
  CancelScope parent(nullptr);
  CancelScope child(&parent);
  CancelScope sibling(&parent);
  child.cancel();
  EXPECT_TRUE(child.cancelled());
  EXPECT_FALSE(parent.cancelled());
  EXPECT_FALSE(sibling.cancelled());
}

}  // namespace
}  // namespace shoal
