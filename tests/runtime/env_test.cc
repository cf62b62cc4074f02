#include "runtime/env.h"

#include <gtest/gtest.h>

#include <set>

#include "harness.h"
#include "support/inline_env.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using EnvTest = RuntimeTest;

TEST_F(EnvTest, EveryKindOfWorkHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (std::size_t kind = 0; kind < kWorkKinds; ++kind)
    EXPECT_TRUE(names.insert(to_string(static_cast<Work>(kind))).second) << kind;
  EXPECT_FALSE(names.contains(""));
}

TEST_F(EnvTest, TheStreamOfAPurposeIsTheSameForAllWhoAskAlike) {
  const InlineEnv one(Seed(5));
  const InlineEnv two(Seed(5));
  const InlineEnv other(Seed(6));
  EXPECT_EQ(one.random(Purpose::Noise, 1, 2).bits(), two.random(Purpose::Noise, 1, 2).bits());
  EXPECT_NE(one.random(Purpose::Noise, 1, 2).bits(), one.random(Purpose::Noise, 2, 1).bits());
  EXPECT_NE(one.random(Purpose::Noise, 1, 2).bits(), other.random(Purpose::Noise, 1, 2).bits());
}

TEST_F(EnvTest, SleepsUntilItsTimeAndCanBeWokenByCancel) {
  InlineEnv env;
  env.manual = true;
  const auto sleeper = [](Env& e) -> Task<> { co_await e.sleep(10ms); };
  Watched& one = start(sleeper(env));
  Watched& two = start(sleeper(env));
  env.advance(9ms);
  run();
  EXPECT_FALSE(one.done());
  two.cancel();
  run();
  EXPECT_EQ(two.error(), "cancelled");
  env.advance(1ms);
  run();
  EXPECT_TRUE(one.ok());
}

TEST_F(EnvTest, WorkRunsItsFunctionAndPassesOnWhatItThrows) {
  InlineEnv env;
  int ran = 0;
  Watched& fine = start([](Env& e, int& n) -> Task<> {
    co_await e.work(Work::Reduce, Elements(3), [&] { ++n; });
  }(env, ran));
  EXPECT_TRUE(fine.ok());
  EXPECT_EQ(ran, 1);
  Watched& broken = start([](Env& e) -> Task<> {
    co_await e.work(Work::Update, Elements(3), [] { throw DataError("not a number in bucket 4"); });
  }(env));
  EXPECT_EQ(broken.error(), "not a number in bucket 4");
}

}  // namespace
}  // namespace shoal
