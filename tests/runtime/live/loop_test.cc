// The live event loop: the order of execution, tasks from other threads, and sleep.
#include "runtime/live/loop.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runtime/live/live_env.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

TEST(LiveLoop, TimersFireByTimeThenInTheOrderTheyWereSet) {
  LiveLoop loop;
  std::vector<int> fired;
  const Time base = loop.now() + 1ms;
  loop.at(base + 2ms, [&] { fired.push_back(4); });
  loop.at(base, [&] { fired.push_back(1); });
  loop.at(base, [&] { fired.push_back(2); });
  loop.at(base + 1us, [&] { fired.push_back(3); });
  loop.at(base + 3ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(fired, (std::vector{1, 2, 3, 4}));
}

TEST(LiveLoop, ACancelledTimerDoesNotFireAndTheOthersDo) {
  LiveLoop loop;
  std::vector<int> fired;
  const LiveLoop::Timer first = loop.at(loop.now(), [&] { fired.push_back(1); });
  loop.at(loop.now(), [&] { fired.push_back(2); });
  loop.at(loop.now() + 1ms, [&] { loop.stop(); });
  loop.cancel(first);
  loop.run();
  EXPECT_EQ(fired, std::vector{2});
}

TEST(LiveLoop, ATimerThatSetsAnotherAtOnceStarvesNobody) {
  LiveLoop loop;
  int fired = 0;
  std::function<void()> again = [&] {
    ++fired;
    loop.at(loop.now(), again);
  };
  loop.at(loop.now(), again);
  loop.inject([&] { loop.at(loop.now() + 1ms, [&] { loop.stop(); }); });
  loop.run();
  EXPECT_GT(fired, 0);
}

TEST(LiveLoop, InjectionsOfManyThreadsAllRunEachThreadsInOrder) {
  constexpr std::size_t kThreads = 8;
  constexpr int kEach = 5000;
  LiveLoop loop;
  std::vector<std::vector<int>> seen(kThreads);
  std::size_t left = kThreads * kEach;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        loop.inject([&, t, i] {
          seen[t].push_back(i);
          if (--left == 0) loop.stop();
        });
      }
    });
  }
  loop.run();
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < kThreads; ++t) {
    ASSERT_EQ(seen[t].size(), static_cast<std::size_t>(kEach));
    for (int i = 0; i < kEach; ++i)
      ASSERT_EQ(seen[t][static_cast<std::size_t>(i)], i) << "thread " << t;
  }
}

TEST(LiveLoop, InjectionIntoAnAwakeLoopMakesNoSystemCall) {
  LiveLoop loop;
  int left = 1000;
  std::function<void()> next = [&] {
    if (--left > 0) return loop.inject(next);
    loop.stop();
  };
  loop.inject(next);
  loop.run();
  EXPECT_EQ(left, 0);
  EXPECT_EQ(loop.wake_ups(), 0U);
  EXPECT_EQ(loop.sleeps(), 0U);
}

// Ping-pong between two loops: each is asleep or about to sleep when the other's ball arrives. Any
// lost wake-up hangs the test.
TEST(LiveLoop, NoWakeUpIsLostBetweenTwoLoops) {
  LiveLoop ping;
  LiveLoop pong;
  int left = 5000;
  std::function<void()> at_pong;
  std::function<void()> at_ping = [&] {
    if (--left > 0) return pong.inject(at_pong);
    ping.stop();
    pong.stop();
  };
  at_pong = [&] { ping.inject(at_ping); };
  ping.inject(at_ping);
  std::thread other([&] { pong.run(); });
  ping.run();
  other.join();
  EXPECT_EQ(left, 0);
}

TEST(LiveLoop, AnIdleLoopDoesNotTurn) {
  LiveLoop loop;
  LiveEnv env(loop, {});
  const auto program = [](LiveEnv& e) -> Task<void> { co_await e.sleep(30ms); };
  run_task(loop, program(env));
  // One turn to begin, one after the sleep, one for the stop; the kernel may wake it early once.
  EXPECT_LE(loop.turns(), 8U);
  EXPECT_GE(loop.sleeps(), 1U);
}

TEST(LiveLoop, TasksThatKeepEachOtherReadyStarveNeitherTimersNorInjections) {
  LiveLoop loop;
  bool done = false;
  const auto spin = [](bool& stop) -> Task<void> {
    const auto nothing = []() -> Task<void> { co_return; };
    while (!stop) co_await nothing();
  };
  loop.at(loop.now() + 1ms, [&] { loop.inject([&] { done = true; }); });
  run_task(loop, spin(done));
  EXPECT_TRUE(done);
}

TEST(LiveLoop, RunTaskThrowsWhatTheTaskThrows) {
  LiveLoop loop;
  const auto fail = []() -> Task<void> {
    throw ConfigError("no");
    co_return;
  };
  EXPECT_THROW(run_task(loop, fail()), ConfigError);
  const auto fine = []() -> Task<void> { co_return; };
  run_task(loop, fine());  // The loop can be used again.
}

TEST(LiveLoop, AWatchedDescriptorCallsUntilItIsUnwatched) {
  LiveLoop loop;
  const int event = eventfd(1, EFD_NONBLOCK);
  int calls = 0;
  loop.watch(event, [&] {  // Not drained: readable forever.
    if (++calls < 3) return;
    loop.unwatch(event);
    loop.stop();
  });
  loop.run();
  EXPECT_EQ(calls, 3);
  close(event);
}

TEST(LiveLoop, ADescriptorIsWatchedForWhatWasAskedAndTheInterestCanChange) {
  LiveLoop loop;
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
  std::vector<Readiness> seen;
  loop.watch(pair[0], {.writable = true}, [&](Readiness ready) {
    seen.push_back(ready);
    if (seen.size() == 1) {  // It stays writable, but no watcher asks for that any more.
      loop.rewatch(pair[0], {.readable = true});
      return loop.inject([&] { EXPECT_EQ(write(pair[1], "x", 1), 1); });
    }
    if (seen.size() == 2) {
      char byte = 0;
      EXPECT_EQ(read(pair[0], &byte, 1), 1);
      return loop.inject([&] { close(pair[1]); });
    }
    loop.unwatch(pair[0]);
    loop.stop();
  });
  loop.run();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0], (Readiness{.writable = true}));
  EXPECT_EQ(seen[1], (Readiness{.readable = true}));
  EXPECT_EQ(seen[2], (Readiness{.readable = true, .writable = true})) << "a hang-up is both";
  close(pair[0]);
}

TEST(LiveLoop, ASignalIsTakenByTheLoop) {
  sigset_t before;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &before), 0);
  {
    LiveLoop loop;
    int received = 0;
    loop.watch_signal(SIGUSR1, [&] {
      ++received;
      loop.stop();
    });
    raise(SIGUSR1);
    loop.run();
    EXPECT_EQ(received, 1);
  }
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

class CountingPoller final : public Poller {
 public:
  explicit CountingPoller(LiveLoop& loop) : loop_(&loop) {}
  bool poll() override {
    ++polls;
    if (polls == 3) return true;  // Traffic: the loop stays awake for its spin time.
    if (polls == 10) loop_->stop();
    return false;
  }
  bool arm() override { return ++arms > 2; }  // Twice, a message arrives just before the sleep.
  int polls = 0;
  int arms = 0;

 private:
  LiveLoop* loop_;
};

TEST(LiveLoop, APollerIsArmedBeforeEachSleepAndPolledAgainWhenThatFails) {
  LiveLoop loop;
  CountingPoller poller(loop);
  loop.add_poller(poller, 0ns);
  loop.at(loop.now() + 2ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_GE(poller.arms, 3);
  EXPECT_GE(poller.polls, 4);
  EXPECT_GE(loop.sleeps(), 1U);
}

TEST(LiveLoop, AfterTrafficThePollerSpinsInsteadOfSleeping) {
  LiveLoop loop;
  CountingPoller poller(loop);
  poller.arms = 2;
  poller.polls = 2;  // The next poll has traffic.
  loop.add_poller(poller, 1h);
  loop.run();
  EXPECT_EQ(poller.polls, 10);
  EXPECT_EQ(loop.sleeps(), 0U);
}

// Traffic in every turn.
class FloodedPoller final : public Poller {
 public:
  bool poll() override { return ++polls > 0; }
  bool arm() override { return true; }
  void flush() override { ++flushes; }
  std::uint64_t polls = 0;
  int flushes = 0;
};

TEST(LiveLoop, InAFloodOfMessagesTheClockIsReadRarelyAndTimersFireInTime) {
  LiveLoop loop;
  FloodedPoller poller;
  loop.add_poller(poller, 1ms);
  std::vector<std::uint64_t> fired;
  const Time begin = loop.now();
  for (const Duration after : {1ms, 2ms, 3ms})
    loop.at(begin + after, [&, at = begin + after] {
      EXPECT_GE(loop.turn_time(), at) << "too early";
      fired.push_back(loop.turns());
    });
  loop.at(begin + 4ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(fired.size(), 3U);
  EXPECT_GE(loop.now() - begin, 4ms);
}

TEST(LiveLoop, APollerIsFlushedInTheTurnInWhichTheLoopEnds) {
  LiveLoop loop;
  FloodedPoller poller;
  loop.add_poller(poller, 1ms);
  loop.stop();
  loop.run();
  EXPECT_EQ(poller.polls, 0U);
  EXPECT_EQ(poller.flushes, 1);
}

// In the middle of a transfer; the loop ends when it would sleep.
class BusyPoller final : public Poller {
 public:
  explicit BusyPoller(LiveLoop& loop) : loop_(&loop) {}
  bool poll() override { return polls++ == 0; }
  bool arm() override {
    loop_->stop();
    return false;
  }
  Duration ahead() const override { return 1ms; }  // Too short for a nap.
  int polls = 0;

 private:
  LiveLoop* loop_;
};

Duration awake_in_a_transfer(bool work_away) {
  LiveLoop loop;
  BusyPoller poller(loop);
  if (work_away) loop.work_away();
  loop.add_poller(poller, 10ms);
  const Time begin = loop.now();
  loop.run();
  return loop.now() - begin;
}

TEST(LiveLoop, BesideWorkATransferIsNotSpunFor) {
  EXPECT_GE(awake_in_a_transfer(false), Duration(160ms));
  EXPECT_LT(awake_in_a_transfer(true), Duration(160ms));
}

// A long transfer during which nothing arrives; the loop ends after that many polls, or when it
// would sleep.
class LongTransfer final : public Poller {
 public:
  LongTransfer(LiveLoop& loop, int most, Duration ahead = 1s)
      : loop_(&loop), most_(most), ahead_(ahead) {}
  bool poll() override {
    if (++polls == most_) loop_->stop();
    return false;
  }
  bool arm() override {
    loop_->stop();
    return false;
  }
  Duration ahead() const override { return ahead_; }
  int polls = 0;

 private:
  LiveLoop* loop_;
  int most_;
  Duration ahead_;
};

constexpr int kPolls = 1000;

int polls_after_work(Duration awake, int still_away) {
  LiveLoop loop(LoopOptions{.awake = awake});
  LongTransfer none(loop, kPolls, 0ns);
  loop.add_poller(none, 0ns);
  for (int i = 0; i < still_away; ++i) loop.work_away();
  loop.inject([] {});
  loop.run();
  return none.polls;
}

TEST(LiveLoop, StaysAwakeWhenWorkCameBackAndNoneIsAway) {
  EXPECT_GE(polls_after_work(1h, 0), kPolls);
  EXPECT_LT(polls_after_work(1h, 1), kPolls) << "the core of what computes was taken";
  EXPECT_LT(polls_after_work(0ns, 0), kPolls);
}

TEST(LiveLoop, BesideWorkALongTransferIsLookedAfterInNaps) {
  LiveLoop loop;
  LongTransfer transfer(loop, 5);
  loop.add_poller(transfer, 0ns);
  loop.work_away();
  loop.run();
  EXPECT_EQ(transfer.polls, 5);
  EXPECT_GE(loop.naps(), 4U);
  EXPECT_EQ(loop.sleeps(), 0U);
}

TEST(LiveLoop, WithoutWorkThereAreNoNaps) {
  LiveLoop loop;
  LongTransfer transfer(loop, 1000);
  loop.add_poller(transfer, 0ns);
  loop.run();
  EXPECT_EQ(loop.naps(), 0U);
}

TEST(LiveLoop, ANapEndsWithTheWorkAndKeepsNoTimerAndNoDescriptorWaiting) {
  LiveLoop loop;
  LongTransfer transfer(loop, 100'000);
  loop.add_poller(transfer, 0ns);
  loop.work_away();
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  std::vector<std::string> order;
  loop.watch(pipe_ends[0], [&] {
    order.emplace_back("descriptor");
    loop.unwatch(pipe_ends[0]);
    loop.inject([&] {
      order.emplace_back("injected");
      loop.stop();
    });
  });
  loop.at(loop.now() + 3ms, [&] {
    order.emplace_back("timer");
    ASSERT_EQ(write(pipe_ends[1], "x", 1), 1);
  });
  loop.run();
  EXPECT_EQ(order, (std::vector<std::string>{"timer", "descriptor", "injected"}));
  EXPECT_EQ(loop.sleeps(), 0U);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

class FakeSource final : public StallSource {
 public:
  bool pending() const override { return waits; }
  std::uint64_t progress() const override { return count; }
  std::vector<std::string> waiting() override { return {"node 1 waits for node 2"}; }
  bool waits = true;
  std::uint64_t count = 0;
};

TEST(LiveLoop, AStallIsReportedOnceAndAgainAfterProgress) {
  LoopOptions options;
  options.stall_after = 2ms;
  LiveLoop loop(options);
  FakeSource source;
  loop.add_stall_source(source);
  std::vector<std::string> reports;
  loop.on_stall([&](const std::vector<std::string>& waiting) {
    reports.insert(reports.end(), waiting.begin(), waiting.end());
    if (reports.size() == 2) return loop.stop();
    // Long enough for a second report of the same stall, if there were one.
    loop.at(loop.now() + 20ms, [&] {
      EXPECT_EQ(reports.size(), 1U);
      ++source.count;
    });
  });
  loop.run();
  loop.remove_stall_source(source);
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_NE(reports[0].find("node 1 waits for node 2"), std::string::npos) << reports[0];
}

TEST(LiveLoop, NothingPendingIsNoStallAndCostsNoTurns) {
  LoopOptions options;
  options.stall_after = 1ms;
  LiveLoop loop(options);
  FakeSource source;
  source.waits = false;
  loop.add_stall_source(source);
  loop.on_stall([](const std::vector<std::string>&) { FAIL() << "nothing waits"; });
  loop.at(loop.now() + 30ms, [&] { loop.stop(); });
  loop.run();
  loop.remove_stall_source(source);
  EXPECT_LE(loop.turns(), 8U);
}

}  // namespace
}  // namespace shoal
