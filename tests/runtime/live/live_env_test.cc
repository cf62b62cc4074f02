// LiveEnv: sleeping, working by either policy, cancellation of both, and records.
#include "runtime/live/live_env.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

TEST(LiveEnv, SleepersWakeByTheirTimes) {
  LiveLoop loop;
  LiveEnv env(loop, {});
  std::vector<int> order;
  const auto nap = [](Env& e, Duration d, std::vector<int>& out, int name) -> Task<void> {
    const Time before = e.now();
    co_await e.sleep(d);
    EXPECT_GE(e.now() - before, d);
    out.push_back(name);
  };
  run_task(loop, with_group([&](TaskGroup& group) -> Task<void> {
             group.spawn(nap(env, 3ms, order, 3));
             group.spawn(nap(env, 1ms, order, 1));
             group.spawn(nap(env, 2ms, order, 2));
             group.spawn(nap(env, -5s, order, 0));
             co_return;
           }));
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
}

TEST(LiveEnv, ACancelledSleepEndsAtOnceEvenOneForEver) {
  LiveLoop loop;
  LiveEnv env(loop, {});
  const auto forever = [](Env& e, bool& cancelled) -> Task<void> {
    try {
      co_await e.sleep(Duration::max());
    } catch (const Cancelled&) {
      cancelled = true;
      throw;
    }
  };
  bool cancelled = false;
  const auto body = [&](LiveEnv& e) -> Task<void> {
    auto winner = co_await race(forever(e, cancelled), e.sleep(1ms));
    EXPECT_EQ(winner.index(), 1U);
  };
  run_task(loop, body(env));
  EXPECT_TRUE(cancelled);
}

// A gradient may wait for an exchange: work of the exchange must not queue behind the gradient.
TEST(LiveEnv, WhatIsDoneAsideNeverWaitsForAGradientThatWaitsForIt) {
  LiveLoop loop;
  ComputeThread compute;
  LiveEnv env(loop, {.compute = &compute});
  constexpr Elements kLarge{1'000'000};
  std::vector<int> order;
  std::atomic<int> done = 0;
  const auto exchange = [&](int i) -> Task<void> {
    const auto reduce = [&order, i] { order.push_back(i); };
    co_await env.work(Work::Reduce, kLarge, reduce);
    ++done;
    done.notify_all();
    const auto update = [&order, i] { order.push_back(100 + i); };
    co_await env.work_aside(Work::Update, kLarge, update);
    ++done;
    done.notify_all();
  };
  const auto gradient = [&]() -> Task<void> {
    co_await env.work(Work::Backward, kLarge, [&] {
      for (int seen = done; seen < 8; seen = done) done.wait(seen);
    });
  };
  run_task(loop, with_group([&](TaskGroup& group) -> Task<> {
             group.spawn(exchange(0));  // goes to the compute thread, before the gradient
             group.spawn(exchange(1));
             group.spawn(gradient());
             group.spawn(exchange(2));
             group.spawn(exchange(3));
             co_return;
           }));
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 100, 101, 102, 103}));
}

struct Policy {
  bool compute_thread;
};
class LiveEnvWork : public testing::TestWithParam<Policy> {
 protected:
  LiveEnvWork() {
    if (GetParam().compute_thread) compute = std::make_unique<ComputeThread>();
    env = std::make_unique<LiveEnv>(loop, LiveEnvOptions{.compute = compute.get()});
  }
  LiveLoop loop;
  std::unique_ptr<ComputeThread> compute;
  std::unique_ptr<LiveEnv> env;
};

TEST_P(LiveEnvWork, RunsWhereThePolicySaysAndInOrder) {
  std::vector<int> order;
  std::thread::id where;
  const auto program = [&](Env& e) -> Task<void> {
    for (int i = 0; i < 50; ++i) {
      const auto append = [&order, &where, i] {
        order.push_back(i);
        where = std::this_thread::get_id();
      };
      co_await e.work(Work::Reduce, Elements(1'000'000), append);
      EXPECT_EQ(order.size(), static_cast<std::size_t>(i) + 1);
    }
  };
  run_task(loop, program(*env));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order.at(static_cast<std::size_t>(i)), i);
  EXPECT_EQ(where == std::this_thread::get_id(), !GetParam().compute_thread);
}

TEST_P(LiveEnvWork, SmallPiecesStayOnTheLoopsThreadUnlessTheNodeComputes) {
  std::thread::id alone, beside;
  const auto small = [&](std::thread::id& where) -> Task<void> {
    co_await env->work(Work::Update, Elements(100), [&] { where = std::this_thread::get_id(); });
  };
  const auto long_one = [&]() -> Task<void> {
    co_await env->work(Work::Backward, Elements(1), [] {});
  };
  run_task(loop, small(alone));
  EXPECT_EQ(alone, std::this_thread::get_id());
  run_task(loop, with_group([&](TaskGroup& group) -> Task<void> {
             group.spawn(long_one());
             group.spawn(small(beside));
             co_return;
           }));
  EXPECT_EQ(beside == std::this_thread::get_id(), !GetParam().compute_thread);
}

// Sums of an exchange proceed while a gradient is computed: the link must not wait for it.
TEST_P(LiveEnvWork, AnExchangeGoesOnBesideAGradient) {
  if (!GetParam().compute_thread) {
    // Without a compute thread all work is one sequence of slices; the test below checks its order.
    EXPECT_EQ(compute, nullptr);
    return;
  }
  std::latch summed(1);
  std::thread::id where;
  const auto gradient = [&]() -> Task<void> {
    co_await env->work(Work::Backward, Elements(1), [&] { summed.wait(); });
  };
  const auto exchange = [&]() -> Task<void> {
    for (int i = 0; i < 3; ++i)
      co_await env->work(Work::Reduce, Elements(1'000'000),
                         [&] { where = std::this_thread::get_id(); });
    summed.count_down();
  };
  run_task(loop, with_group([&](TaskGroup& group) -> Task<void> {
             group.spawn(gradient());
             group.spawn(exchange());
             co_return;
           }));
  EXPECT_EQ(where, std::this_thread::get_id());
}

// Sums into the same place must run in order, wherever they run: some are already on the compute
// thread when a gradient occupies it.
TEST_P(LiveEnvWork, WorkOfALineStaysInOrderWhereverItRuns) {
  std::vector<int> sums, updates;
  const auto one = [&](Work kind, std::uint64_t n, std::vector<int>& order, int i) -> Task<void> {
    const auto note = [&order, i] { order.push_back(i); };
    co_await env->work(kind, Elements(n), note);
  };
  run_task(loop, with_group([&](TaskGroup& group) -> Task<void> {
             for (int i = 0; i < 40; ++i) {
               const std::uint64_t n = i % 3 == 0 ? 1'000'000 : 100;
               if (i % 8 == 5) group.spawn(one(Work::Forward, 1, updates, i));
               group.spawn(one(Work::Reduce, n, sums, i));
               group.spawn(one(Work::Update, i % 5 == 4 ? 1'000'000 : 100, updates, i));
               if (i % 7 == 6) co_await env->sleep(1ms);
             }
             co_return;
           }));
  EXPECT_TRUE(std::ranges::is_sorted(sums));
  EXPECT_TRUE(std::ranges::is_sorted(updates));
  EXPECT_EQ(sums.size(), 40U);
  EXPECT_EQ(updates.size(), 45U);
}

TEST_P(LiveEnvWork, ThrowsWhatTheFunctionThrows) {
  const auto program = [](Env& e) -> Task<void> {
    co_await e.work(Work::Decode, Elements(1), [] { throw DataError("bad block"); });
  };
  EXPECT_THROW(run_task(loop, program(*env)), DataError);
}

// A long piece of work is a sequence of slices; heartbeats must be sent between them.
TEST_P(LiveEnvWork, TimersFireBetweenTheSlicesOfALongPiece) {
  bool fired = false;
  loop.at(loop.now() + 1ms, [&] { fired = true; });
  const auto program = [&](Env& e) -> Task<void> {
    while (!fired) co_await e.work(Work::Update, Elements(1), [] {});
  };
  run_task(loop, program(*env));
  EXPECT_TRUE(fired);
}

TEST_P(LiveEnvWork, ATinyPieceIsDoneAtOnceAndALargeOneIsNot) {
  const auto program = [&](Env& e) -> Task<void> {
    const std::uint64_t before = loop.turns();
    co_await e.work(Work::Reduce, Elements(1000), [] {});
    EXPECT_EQ(loop.turns(), before);
    co_await e.work(Work::Reduce, Elements(10'000), [] {});
    EXPECT_GT(loop.turns(), before);
  };
  run_task(loop, program(*env));
}

TEST_P(LiveEnvWork, WorkOfSeveralTasksIsDoneOnceEach) {
  std::vector<int> done(20);
  const auto one = [](Env& e, int& mine) -> Task<void> {
    co_await e.work(Work::Copy, Elements(1), [&mine] { ++mine; });
  };
  run_task(loop, with_group([&](TaskGroup& group) -> Task<void> {
             for (int& mine : done) group.spawn(one(*env, mine));
             co_return;
           }));
  EXPECT_EQ(done, std::vector<int>(20, 1));
}

TEST_P(LiveEnvWork, CancelledWhileQueuedItNeverRuns) {
  bool ran = false;
  const auto queued = [&](Env& e) -> Task<void> {
    co_await e.work(Work::Copy, Elements(1 << 20), [&ran] { ran = true; });
  };
  // This function occupies the compute thread while the other waits behind it.
  std::latch cancelled(1);
  const auto first = [&](Env& e) -> Task<void> {
    co_await e.work(Work::Copy, Elements(1 << 20), [&] {
      if (GetParam().compute_thread) cancelled.wait();
    });
  };
  const auto program = [&](Env& e) -> Task<void> {
    const Context context = co_await current();
    TaskGroup holder(context);
    TaskGroup group(context);
    holder.spawn(first(e));
    group.spawn(queued(e));
    const auto nothing = []() -> Task<void> { co_return; };
    co_await nothing();  // Both have begun.
    group.cancel();
    co_await group.join();
    cancelled.count_down();
    co_await holder.join();
  };
  run_task(loop, program(*env));
  EXPECT_FALSE(ran);
}

INSTANTIATE_TEST_SUITE_P(Policies, LiveEnvWork, testing::Values(Policy{false}, Policy{true}),
                         [](const auto& policy) {
                           return policy.param.compute_thread ? "ComputeThread" : "Inline";
                         });

// Running work cannot be stopped: the coroutine is told of its cancellation only when the function
// has ended, because the function's data must live until then.
TEST(LiveEnv, CancelledWhileRunningItEndsFirstAndThenThrowsCancelled) {
  LiveLoop loop;
  ComputeThread compute;
  LiveEnv env(loop, {.compute = &compute});
  std::latch running(1);
  std::latch go_on(1);
  bool ended = false;
  bool ended_before_cancelled = false;
  const auto work = [&](Env& e) -> Task<void> {
    try {
      co_await e.work(Work::Forward, Elements(1), [&] {
        running.count_down();
        go_on.wait();
        ended = true;
      });
    } catch (const Cancelled&) {
      ended_before_cancelled = ended;
      throw;
    }
  };
  const auto program = [&](Env& e) -> Task<void> {
    const Context context = co_await current();
    TaskGroup group(context);
    group.spawn(work(e));
    const auto nothing = []() -> Task<void> { co_return; };
    co_await nothing();
    running.wait();
    group.cancel();
    EXPECT_EQ(group.running(), 1U);
    go_on.count_down();
    co_await group.join();
  };
  run_task(loop, program(env));
  EXPECT_TRUE(ended_before_cancelled);
}

TEST(LiveEnv, RecordsHaveTimeNodeAndIncarnation) {
  LiveLoop loop;
  Recorder recorder;
  LiveEnv env(loop, {.node = NodeId(3), .incarnation = Incarnation(2), .recorder = &recorder});
  const Time before = env.now();
  Event event;
  event.kind = EventKind::StepApplied;
  event.a = 7;
  const auto later = [&]() -> Task<void> {
    co_await env.sleep(1ms);
    env.record(event);
  };
  run_task(loop, later());
  const std::vector<Event> events = recorder.last(NodeId(3));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].incarnation, Incarnation(2));
  EXPECT_EQ(events[0].a, 7U);
  EXPECT_GE(events[0].at, before + 1ms) << "when the turn began in which it was recorded";
  EXPECT_LE(events[0].at, env.now());
  LiveEnv silent(loop, {});
  silent.record(event);  // Works without a recorder.
}

}  // namespace
}  // namespace shoal
