// The compute thread: order, errors, and cancellation.
#include "runtime/live/compute_thread.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <chrono>
#include <ctime>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "base/error.h"

namespace shoal {

using namespace std::chrono_literals;

namespace {

TEST(ComputeThread, RunsInOrderElsewhereAndReportsHere) {
  LiveLoop loop;
  ComputeThread compute;
  const std::thread::id here = std::this_thread::get_id();
  std::vector<int> ran;   // by the compute thread
  std::vector<int> done;  // by this one
  for (int i = 0; i < 100; ++i) {
    compute.submit(
        loop,
        [&ran, here, i] {
          EXPECT_NE(std::this_thread::get_id(), here);
          ran.push_back(i);
        },
        [&, here, i](const std::exception_ptr& error) {
          EXPECT_EQ(std::this_thread::get_id(), here);
          EXPECT_EQ(error, nullptr);
          done.push_back(i);
          if (i == 99) loop.stop();
        });
  }
  loop.run();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(ran.at(static_cast<std::size_t>(i)), i);
    EXPECT_EQ(done.at(static_cast<std::size_t>(i)), i);
  }
}

TEST(ComputeThread, CarriesExceptionsOverAndGoesOn) {
  LiveLoop loop;
  ComputeThread compute;
  std::string what;
  compute.submit(
      loop, [] { throw DataError("row 17 has 3 columns"); },
      [&](const std::exception_ptr& error) {
        try {
          std::rethrow_exception(error);
        } catch (const DataError& e) {
          what = e.what();
        }
      });
  bool after = false;
  compute.submit(
      loop, [] {},
      [&](const std::exception_ptr&) {
        after = true;
        loop.stop();
      });
  loop.run();
  EXPECT_EQ(what, "row 17 has 3 columns");
  EXPECT_TRUE(after);
}

TEST(ComputeThread, RevokesWhatIsQueuedAndNothingElse) {
  LiveLoop loop;
  ComputeThread compute;
  std::latch running(1);
  std::latch go_on(1);
  bool second_ran = false;
  const ComputeThread::Ticket first = compute.submit(
      loop,
      [&] {
        running.count_down();
        go_on.wait();
      },
      [&](const std::exception_ptr&) { loop.stop(); });
  const ComputeThread::Ticket second = compute.submit(
      loop, [&] { second_ran = true; }, [](const std::exception_ptr&) { FAIL(); });
  running.wait();
  EXPECT_FALSE(compute.revoke(first));
  EXPECT_TRUE(compute.revoke(second));
  EXPECT_FALSE(compute.revoke(second));
  go_on.count_down();
  loop.run();
  EXPECT_FALSE(second_ran);
  EXPECT_FALSE(compute.revoke(first));
}

TEST(ComputeThread, DestructionWaitsForTheFunctionThatRuns) {
  LiveLoop loop;
  std::latch running(1);
  bool ended = false;
  {
    ComputeThread compute;
    compute.submit(
        loop,
        [&] {
          running.count_down();
          ended = true;
        },
        [](const std::exception_ptr&) {});
    running.wait();
  }
  EXPECT_TRUE(ended);
}

// Submits the next function when the previous one is done, as a step does.
void one_after_the_other(ComputeThread& compute, int functions) {
  LiveLoop loop;
  int left = functions;
  std::function<void()> next = [&] {
    compute.submit(
        loop, [&] { --left; },
        [&](const std::exception_ptr&) { left == 0 ? loop.stop() : next(); });
  };
  next();
  loop.run();
  EXPECT_EQ(left, 0);
}

TEST(ComputeThread, ThatStaysAwakeSleepsNeitherBetweenFunctionsNorBeforeItsEnd) {
  ComputeThread compute({.awake = std::chrono::hours(1)});
  one_after_the_other(compute, 100);
  EXPECT_EQ(compute.sleeps(), 0U);
}  // Hangs for an hour if it only looked for work.

TEST(ComputeThread, SleepsWhenNothingCameWhileItWasAwake) {
  ComputeThread compute({.awake = std::chrono::microseconds(1)});
  while (compute.sleeps() == 0) std::this_thread::yield();  // Hangs if it never did.
  one_after_the_other(compute, 1);
  while (compute.sleeps() == 1) std::this_thread::yield();
  one_after_the_other(compute, 1);
}

TEST(ComputeThread, RevokesWhatIsQueuedWhileItIsAwakeAndRunsTheNext) {
  LiveLoop loop;
  ComputeThread compute({.awake = std::chrono::hours(1)});
  int ran = 0;
  for (int i = 0; i < 100; ++i) {
    const ComputeThread::Ticket ticket = compute.submit(
        loop, [&] { ++ran; }, [&](const std::exception_ptr&) { loop.stop(); });
    if (!compute.revoke(ticket)) loop.run();
    const int before = ran;
    one_after_the_other(compute, 1);
    EXPECT_EQ(ran, before) << "a revoked function ran";
  }
}

void burn(Duration of_the_core) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
  };
  const auto end = now() + of_the_core;
  while (now() < end) {
  }
}

cpu_set_t allowed() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

TEST(ComputeThread, LeavesACoreThatHasBecomeSlowAndMayGoAnywhereAfterwards) {
  ASSERT_GE(std::thread::hardware_concurrency(), 2U) << "this test needs two cores";
  for (const Duration awake : {Duration::zero(), Duration(std::chrono::hours(1))}) {
    LiveLoop loop;
    ComputeThread compute({.awake = awake, .roams = true});
    cpu_set_t seen{};
    const auto run = [&](Duration takes, Steady steady) {
      compute.submit(
          loop,
          [&, takes] {
            burn(takes);
            seen = allowed();
          },
          [&](const std::exception_ptr&) { loop.stop(); }, steady);
      loop.run();
    };
    for (int i = 0; i < 6; ++i) run(3ms, Steady::Yes);
    while (compute.leaving()) run(3ms, Steady::No);
    const std::uint64_t before = compute.moves();
    // Without a reason it does not move.
    for (int i = 0; i < 4; ++i) run(9ms, Steady::No);
    for (int i = 0; i < 4; ++i) run(3ms, Steady::Yes);
    EXPECT_EQ(compute.moves(), before);
    // Hangs if it never sleeps, or is never moved.
    while (compute.moves() == before) run(9ms, Steady::Yes);
    const cpu_set_t all = allowed();
    EXPECT_TRUE(CPU_EQUAL(&seen, &all));
  }
}

}  // namespace
}  // namespace shoal
