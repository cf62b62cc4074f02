// The forms of co_await that we use, each driven with a value that tracks its own life: to its end,
// and with an exception or a cancellation at every point where it waits. tools/tidy refuses the
// forms that g++ 12 gets wrong; this test shows that those it lets pass are right. It is compiled
// twice, with -O0 and -O2. See docs/coroutines.md.
#include "coroutine_forms.h"

#include <gtest/gtest.h>

#include <array>
#include <new>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "base/recorder.h"
#include "runtime/endpoint.h"
#include "runtime/header.h"
#include "runtime/task.h"
#include "runtime/task_group.h"
#include "tracked.h"

namespace shoal {
namespace {

// Braces of these types may stand in an expression with co_await: they have no destructor to run
// twice. tools/tidy reads this list.
template <class T>
constexpr bool kSafeInBraces =
    std::is_trivially_destructible_v<T>&& std::is_trivially_copyable_v<T>;
static_assert(kSafeInBraces<Match>);
static_assert(kSafeInBraces<Tag>);
static_assert(kSafeInBraces<Received>);
static_assert(kSafeInBraces<ConstBuf>);
static_assert(kSafeInBraces<MutBuf>);
static_assert(kSafeInBraces<Header>);
static_assert(kSafeInBraces<Event>);
static_assert(!kSafeInBraces<Tracked> && !kSafeInBraces<std::string>);

using forms::Form;
using forms::kForms;
using forms::Script;

struct Outcome {
  int result = 0;
  int waits = 0;
  std::string error;
};

Task<> keep(Task<int> task, Outcome& outcome) {
  try {
    outcome.result = co_await std::move(task);
  } catch (const Error& e) {
    outcome.error = e.what();
  }
}

Outcome drive(const Form& form, int throw_at, int cancel_at) {
  Script script;
  script.throw_at = throw_at;
  script.cancel_at = cancel_at;
  Executor executor;
  Context context;
  context.executor = &executor;
  TaskGroup root(context);
  Outcome outcome;
  root.spawn(keep(form.run(script), outcome));
  executor.run_ready();
  for (int turn = 0; root.running() > 0 && turn < 1'000; ++turn) {
    if (turn == cancel_at) root.cancel();
    script.go.notify_all();
    executor.run_ready();
  }
  EXPECT_EQ(root.running(), 0U) << "it hangs";
  outcome.waits = script.waits;
  return outcome;
}

class CoroutineForm : public ::testing::TestWithParam<Form> {
 protected:
  void SetUp() override { Tracked::ledger() = Tracked::Ledger(); }
  static void expect_balanced(const std::string& when) {
    const Tracked::Ledger& ledger = Tracked::ledger();
    EXPECT_EQ(ledger.destroyed_twice, 0) << when;
    EXPECT_EQ(ledger.used_dead, 0) << when;
    EXPECT_EQ(ledger.made_over_alive, 0) << when;
    EXPECT_EQ(ledger.alive.size(), 0U) << "leaked, " << when;
    EXPECT_GT(ledger.made, 0) << "nothing was tracked";
  }
};

TEST_P(CoroutineForm, GivesItsResult) {
  const Outcome outcome = drive(GetParam(), -1, -1);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.result, GetParam().result);
  EXPECT_GT(outcome.waits, 0);
  expect_balanced("run to its end");
}

TEST_P(CoroutineForm, SurvivesAnExceptionAtEveryWait) {
  const int waits = drive(GetParam(), -1, -1).waits;
  for (int at = 0; at < waits; ++at) {
    const Outcome outcome = drive(GetParam(), at, -1);
    EXPECT_TRUE(outcome.error == "boom" || outcome.result == GetParam().result) << outcome.error;
    expect_balanced("thrown at wait " + std::to_string(at));
  }
  EXPECT_EQ(drive(GetParam(), 0, -1).error, "boom") << "the first wait is always reached";
}

TEST_P(CoroutineForm, SurvivesCancellationAtEveryTurn) {
  const int waits = drive(GetParam(), -1, -1).waits;
  for (int at = 0; at < waits; ++at) {
    const Outcome outcome = drive(GetParam(), -1, at);
    EXPECT_TRUE(outcome.error == "cancelled" || outcome.result == GetParam().result);
    expect_balanced("cancelled at turn " + std::to_string(at));
  }
  EXPECT_EQ(drive(GetParam(), -1, 0).error, "cancelled");
}

INSTANTIATE_TEST_SUITE_P(All, CoroutineForm, ::testing::ValuesIn(kForms),
                         [](const auto& param) { return std::string(param.param.name); });

// The tracker itself can fail: it counts each kind of misuse.
TEST(Tracked, NoticesWhatItIsThereFor) {
  Tracked::ledger() = Tracked::Ledger();
  alignas(Tracked) std::array<std::byte, sizeof(Tracked)> room;
  Tracked* t = new (room.data()) Tracked(1);
  EXPECT_TRUE(Tracked::ledger().clean());
  EXPECT_EQ(Tracked::ledger().alive.size(), 1U) << "a leak shows";
  t->~Tracked();
  EXPECT_TRUE(Tracked::ledger().clean());
  t->value();
  EXPECT_EQ(Tracked::ledger().used_dead, 1);
  t->~Tracked();
  EXPECT_EQ(Tracked::ledger().destroyed_twice, 1);
  EXPECT_FALSE(Tracked::ledger().clean());
}

}  // namespace
}  // namespace shoal
