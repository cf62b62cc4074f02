#include "runtime/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace shoal {
namespace {

using ::testing::ElementsAre;

// A coroutine that runs when resumed and is owned by the test.
struct Fiber {
  struct promise_type {
    Fiber get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

Fiber append(std::vector<int>& log, int value) {
  log.push_back(value);
  co_return;
}
Fiber post_other(Executor& executor, std::coroutine_handle<> other, std::vector<int>& log) {
  log.push_back(0);
  executor.post(other);
  co_return;
}

TEST(Executor, RunsInOrderOfReadiness) {
  Executor executor;
  std::vector<int> log;
  std::vector<Fiber> fibers;
  for (int i = 1; i <= 3; ++i) fibers.push_back(append(log, i));
  EXPECT_TRUE(executor.idle());
  for (const Fiber& f : fibers) executor.post(f.handle);
  EXPECT_FALSE(executor.idle());
  EXPECT_EQ(executor.run_ready(), 3U);
  EXPECT_TRUE(executor.idle());
  EXPECT_THAT(log, ElementsAre(1, 2, 3));
  for (const Fiber& f : fibers) f.handle.destroy();
}

TEST(Executor, WhatIsPostedWhileRunningRunsInTheSameTurnAfterTheRest) {
  Executor executor;
  std::vector<int> log;
  const Fiber last = append(log, 9);
  const Fiber first = post_other(executor, last.handle, log);
  const Fiber second = append(log, 1);
  executor.post(first.handle);
  executor.post(second.handle);
  EXPECT_EQ(executor.run_ready(), 3U);
  EXPECT_THAT(log, ElementsAre(0, 1, 9));
  first.handle.destroy();
  second.handle.destroy();
  last.handle.destroy();
}

TEST(Executor, RunOneRunsOne) {
  Executor executor;
  std::vector<int> log;
  const Fiber one = append(log, 1);
  const Fiber two = append(log, 2);
  EXPECT_FALSE(executor.run_one());
  executor.post(one.handle);
  executor.post(two.handle);
  EXPECT_TRUE(executor.run_one());
  EXPECT_THAT(log, ElementsAre(1));
  EXPECT_TRUE(executor.run_one());
  EXPECT_FALSE(executor.run_one());
  one.handle.destroy();
  two.handle.destroy();
}

// The ring has 64 places; it must keep the order when it grows with its head anywhere.
TEST(Executor, KeepsTheOrderWhenItGrowsAtAnyPosition) {
  for (int offset = 0; offset < 64; offset += 7) {
    Executor executor;
    std::vector<int> log;
    std::vector<Fiber> fibers;
    for (int i = 0; i < offset + 300; ++i) fibers.push_back(append(log, i));
    for (int i = 0; i < offset; ++i) {
      executor.post(fibers[static_cast<std::size_t>(i)].handle);
      executor.run_one();
    }
    for (std::size_t i = static_cast<std::size_t>(offset); i < fibers.size(); ++i)
      executor.post(fibers[i].handle);
    EXPECT_EQ(executor.run_ready(), 300U);
    std::vector<int> expected(fibers.size());
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int>(i);
    EXPECT_EQ(log, expected) << "head at " << offset;
    for (const Fiber& f : fibers) f.handle.destroy();
  }
}

}  // namespace
}  // namespace shoal
