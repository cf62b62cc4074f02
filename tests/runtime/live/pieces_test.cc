// Work in pieces, with and without a compute thread; abandoned work.
#include "runtime/pieces.h"

#include <gtest/gtest.h>

#include <latch>
#include <vector>

#include "base/error.h"
#include "runtime/live/live_env.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

using Pieces = std::vector<std::uint32_t>;

TEST(Pieces, AreTakenWhileTheWorkGoesOn) {
  LiveLoop loop;
  ComputeThread compute;
  LiveEnv env(loop, {.compute = &compute});
  Pieces taken;
  std::latch first_was_taken(1);
  const auto program = [&]() -> Task<void> {
    std::vector<Elements> costs(3);
    co_await work_in_pieces(
        env, Work::Backward, std::move(costs), Taken::AtOnce,
        [&](const Emit& emit, const Wanted&) {
          emit(2);
          first_was_taken.wait();  // Hangs forever if pieces were delivered only at the end.
          emit(0);
          emit(1);
        },
        [&](std::uint32_t i) {
          taken.push_back(i);
          if (taken.size() == 1) first_was_taken.count_down();
        });
    EXPECT_EQ(taken.size(), 3U) << "the work ended before its pieces were taken";
  };
  run_task(loop, program());
  EXPECT_EQ(taken, (Pieces{2, 0, 1}));
}

TEST(Pieces, ThatAreOfNoUseEarlierDoNotWakeTheNode) {
  LiveLoop loop;
  ComputeThread compute;
  LiveEnv env(loop, {.compute = &compute});
  Pieces taken;
  std::uint64_t woken = 0;
  const auto program = [&]() -> Task<void> {
    std::vector<Elements> costs(100);
    co_await work_in_pieces(
        env, Work::Backward, std::move(costs), Taken::AtTheEnd,
        [&](const Emit& emit, const Wanted&) {
          const std::uint64_t before = loop.wake_ups();
          for (std::uint32_t i = 0; i < 100; ++i) emit(i);
          woken = loop.wake_ups() - before;
          EXPECT_TRUE(taken.empty());
        },
        [&](std::uint32_t i) { taken.push_back(i); });
    EXPECT_EQ(taken.size(), 100U);
  };
  run_task(loop, program());
  EXPECT_EQ(woken, 0U);
  EXPECT_EQ(taken.back(), 99U);
}

TEST(Pieces, WithoutAThreadOfTheirOwnComeInTheSameOrder) {
  LiveLoop loop;
  LiveEnv env(loop, {});
  Pieces taken;
  const auto program = [&]() -> Task<void> {
    std::vector<Elements> costs(2);
    co_await work_in_pieces(
        env, Work::Backward, std::move(costs), Taken::AtOnce,
        [](const Emit& emit, const Wanted&) {
          emit(1);
          emit(0);
        },
        [&](std::uint32_t i) { taken.push_back(i); });
  };
  run_task(loop, program());
  EXPECT_EQ(taken, (Pieces{1, 0}));
}

TEST(Work, LearnsThatNobodyWantsItAnyMore) {
  LiveLoop loop;
  ComputeThread compute;
  LiveEnv env(loop, {.compute = &compute});
  std::latch running(1);
  bool gave_up = false;
  const auto endless = [&]() -> Task<void> {
    co_await env.work(Work::Backward, Elements(1), [&](const Wanted& wanted) {
      running.count_down();
      while (wanted()) {
      }
      gave_up = true;
      throw Cancelled();
    });
  };
  ComputeThread another;  // On the first thread this would wait behind work that never ends.
  LiveEnv other(loop, {.compute = &another});
  const auto canceller = [&]() -> Task<void> {
    TaskGroup group(loop.context());
    group.spawn(endless());
    co_await other.work(Work::Io, Elements(0), [&] { running.wait(); });
    group.cancel();
    co_await group.join();
  };
  run_task(loop, canceller());
  EXPECT_TRUE(gave_up);
}

TEST(LiveEnv, IoHasAThreadOfItsOwn) {
  LiveLoop loop;
  ComputeThread compute, io;
  LiveEnv env(loop, {.compute = &compute, .io = &io});
  std::latch written(1);
  const auto computing = [&]() -> Task<void> {
    co_await env.work(Work::Forward, Elements(1), [&] { written.wait(); });
  };
  const auto program = [&]() -> Task<void> {
    TaskGroup group(loop.context());
    group.spawn(computing());
    // Would wait forever behind the computation.
    co_await env.work(Work::Io, Elements(1), [&] { written.count_down(); });
    co_await group.join();
  };
  run_task(loop, program());
  EXPECT_TRUE(written.try_wait());
}

}  // namespace
}  // namespace shoal
