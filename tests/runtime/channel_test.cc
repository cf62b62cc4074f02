#include "runtime/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "harness.h"

namespace shoal {
namespace {

using ::testing::ElementsAre;

class ChannelTest : public RuntimeTest {
 protected:
  Task<> consume(std::string name) {
    while (auto value = co_await channel.next()) log.push_back(name + std::to_string(*value));
    log.push_back(name + " end");
  }
  Task<> consume_one(std::string name) {
    const auto value = co_await channel.next();
    log.push_back(name + (value ? std::to_string(*value) : " end"));
  }
  Channel<int> channel;
  std::vector<std::string> log;
};

TEST_F(ChannelTest, ValuesComeInOrderWhetherPushedBeforeOrAfter) {
  channel.push(1);
  channel.push(2);
  Watched& task = start(consume("c"));
  channel.push(3);
  channel.push(4);
  run();
  EXPECT_FALSE(task.done());
  channel.close();
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_THAT(log, ElementsAre("c1", "c2", "c3", "c4", "c end"));
}

TEST_F(ChannelTest, ClosedWithValuesInItIsDrainedFirst) {
  channel.push(1);
  channel.push(2);
  channel.close();
  EXPECT_TRUE(start(consume("c")).ok());
  EXPECT_THAT(log, ElementsAre("c1", "c2", "c end"));
  EXPECT_TRUE(start(consume("d")).ok());
  EXPECT_EQ(log.back(), "d end");
}

TEST_F(ChannelTest, SeveralConsumersAreServedInOrderOfWaiting) {
  start(consume("a"));
  start(consume("b"));
  start(consume("c"));
  for (int i = 1; i <= 5; ++i) {
    channel.push(i);
    run();
  }
  EXPECT_THAT(log, ElementsAre("a1", "b2", "c3", "a4", "b5"));
  channel.close();
  run();
  EXPECT_EQ(log.size(), 8U) << "everyone learns of the end";
}

TEST_F(ChannelTest, ACancelledConsumerLosesNoValue) {
  Watched& first = start(consume_one("a"));
  Watched& second = start(consume_one("b"));
  first.cancel();
  channel.push(1);
  run();
  EXPECT_EQ(first.error(), "cancelled");
  EXPECT_TRUE(second.ok());
  EXPECT_THAT(log, ElementsAre("b1"));
}

TEST_F(ChannelTest, CancelledByAllTheValueStays) {
  Watched& only = start(consume_one("a"));
  only.cancel();
  run();
  channel.push(1);
  EXPECT_TRUE(start(consume_one("b")).ok());
  EXPECT_THAT(log, ElementsAre("b1"));
}

TEST_F(ChannelTest, GivenAValueBeforeItWasCancelledKeepsIt) {
  Watched& task = start(consume_one("a"));
  channel.push(1);
  task.cancel();
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_THAT(log, ElementsAre("a1"));
}

TEST_F(ChannelTest, InACancelledScopeNothingIsTaken) {
  Trigger before;
  Watched& task = start([](Trigger& first, Task<> then) -> Task<> {
    co_await first.wait();
    co_await std::move(then);
  }(before, consume_one("a")));
  channel.push(1);
  before.complete(0);
  task.cancel();
  run();
  EXPECT_EQ(task.error(), "cancelled");
  EXPECT_TRUE(start(consume_one("b")).ok());
  EXPECT_THAT(log, ElementsAre("b1"));
}

TEST_F(ChannelTest, CarriesWhatCannotBeCopied) {
  Channel<std::unique_ptr<int>> boxes;
  int sum = 0;
  Watched& task = start([](Channel<std::unique_ptr<int>>& ch, int& out) -> Task<> {
    while (auto box = co_await ch.next()) out += **box;
  }(boxes, sum));
  boxes.push(std::make_unique<int>(1));
  boxes.push(std::make_unique<int>(2));
  boxes.close();
  run();
  EXPECT_TRUE(task.ok());
  EXPECT_EQ(sum, 3);
}

using ChannelDeathTest = ChannelTest;

TEST_F(ChannelDeathTest, RefusesAPushAfterItsEnd) {
  channel.close();
  EXPECT_DEATH(channel.push(1), "push into a closed channel");
}

class SignalTest : public RuntimeTest {
 protected:
  Task<> wait_until(int& value, int at_least, std::vector<int>& log) {
    while (value < at_least) co_await signal.wait();
    log.push_back(at_least);
  }
  Signal signal;
};

TEST_F(SignalTest, WakesEveryoneWhoThenChecks) {
  int value = 0;
  std::vector<int> log;
  start(wait_until(value, 2, log));
  start(wait_until(value, 1, log));
  start(wait_until(value, 0, log));
  EXPECT_THAT(log, ElementsAre(0));
  value = 1;
  signal.notify_all();
  run();
  EXPECT_THAT(log, ElementsAre(0, 1));
  value = 2;
  signal.notify_all();
  run();
  EXPECT_THAT(log, ElementsAre(0, 1, 2));
}

TEST_F(SignalTest, DoesNotRememberANotification) {
  signal.notify_all();
  int value = 0;
  std::vector<int> log;
  Watched& task = start(wait_until(value, 1, log));
  EXPECT_FALSE(task.done());
  value = 1;
  signal.notify_all();
  run();
  EXPECT_TRUE(task.ok());
}

TEST_F(SignalTest, ACancelledWaiterIsNotWoken) {
  int value = 0;
  std::vector<int> log;
  Watched& cancelled = start(wait_until(value, 1, log));
  Watched& other = start(wait_until(value, 1, log));
  cancelled.cancel();
  value = 1;
  signal.notify_all();
  run();
  EXPECT_EQ(cancelled.error(), "cancelled");
  EXPECT_TRUE(other.ok());
  EXPECT_THAT(log, ElementsAre(1));
}

}  // namespace
}  // namespace shoal
