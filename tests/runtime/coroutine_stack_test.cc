// Awaiting must not use up the stack, however deep tasks nest and however often they complete
// without waiting. Compiled with -O0 and -O2, like coroutine_forms_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "runtime/channel.h"
#include "runtime/task.h"
#include "support/inline_env.h"

namespace shoal {
namespace {

constexpr int kDepth = 20'000;
constexpr int kLoops = 200'000;
// The allowed difference between a test's coroutines; a frame that stays would add up to megabytes.
constexpr std::uintptr_t kSpreadMax = 16 * 1024;

class StackMeter {
 public:
  [[gnu::noinline]] void sample() {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    low_ = std::min(low_, here);
    high_ = std::max(high_, here);
  }
  std::uintptr_t spread() const { return high_ - low_; }

 private:
  std::uintptr_t low_ = UINTPTR_MAX;
  std::uintptr_t high_ = 0;
};

Task<int> count_down(int depth, StackMeter& meter, Signal* wait_at_the_bottom, bool throws) {
  meter.sample();
  if (depth == 0) {
    if (wait_at_the_bottom != nullptr) co_await wait_at_the_bottom->wait();
    if (throws) throw Error("from the bottom");
    co_return 0;
  }
  const int below = co_await count_down(depth - 1, meter, wait_at_the_bottom, throws);
  meter.sample();
  co_return below + 1;
}

TEST(CoroutineStack, TwentyThousandNestedAwaitsReturn) {
  StackMeter meter;
  EXPECT_EQ(run(count_down(kDepth, meter, nullptr, false)), kDepth);
  EXPECT_LT(meter.spread(), kSpreadMax);
}

TEST(CoroutineStack, AnExceptionRisesThroughTwentyThousandAwaits) {
  StackMeter meter;
  EXPECT_THROW(run(count_down(kDepth, meter, nullptr, true)), Error);
  EXPECT_LT(meter.spread(), kSpreadMax);
}

TEST(CoroutineStack, ACancellationRisesThroughTwentyThousandAwaits) {
  StackMeter meter;
  Signal never;
  EXPECT_THROW(run(count_down(kDepth, meter, &never, false)), std::logic_error)
      << "run() cancels what waits for ever";
  EXPECT_LT(meter.spread(), kSpreadMax);
}

Task<int> drain(Channel<int>& channel, StackMeter& meter) {
  int total = 0;
  while (const auto value = co_await channel.next()) {
    meter.sample();
    total += *value;
  }
  co_return total;
}

TEST(CoroutineStack, ALoopOfOperationsThatEndAtOnce) {
  Channel<int> channel;
  for (int i = 0; i < kLoops; ++i) channel.push(1);
  channel.close();
  StackMeter meter;
  EXPECT_EQ(run(drain(channel, meter)), kLoops);
  EXPECT_LT(meter.spread(), kSpreadMax);
}

Task<int> one(StackMeter& meter) {
  meter.sample();
  co_return 1;
}
Task<int> many(StackMeter& meter) {
  int total = 0;
  for (int i = 0; i < kLoops / 4; ++i) total += co_await one(meter);
  co_return total;
}

TEST(CoroutineStack, ALoopOfTasksThatEndAtOnce) {
  StackMeter meter;
  EXPECT_EQ(run(many(meter)), kLoops / 4);
  EXPECT_LT(meter.spread(), kSpreadMax);
}

Task<> spawn_next(TaskGroup& group, int left, StackMeter& meter) {
  meter.sample();
  if (left > 0) group.spawn(spawn_next(group, left - 1, meter));
  co_return;
}
Task<> chain(StackMeter& meter) {
  co_await with_group([&](TaskGroup& group) -> Task<> {
    group.spawn(spawn_next(group, kDepth, meter));
    co_return;
  });
}

TEST(CoroutineStack, AChainOfTasksThatSpawnEachOther) {
  StackMeter meter;
  run(chain(meter));
  EXPECT_LT(meter.spread(), kSpreadMax);
}

}  // namespace
}  // namespace shoal
