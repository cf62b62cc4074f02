// The store in memory: the suite of all stores, and the end of leases.
#include "membership/embedded_store.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/inline_env.h"
#include "support/store_suite.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using store_suite::next_text;
using store_suite::put;
using store_suite::value_of;

class EmbeddedStoreSuite : public testing::TestWithParam<StoreCase> {};

TEST_P(EmbeddedStoreSuite, Passes) {
  InlineEnv env;
  EmbeddedStore store(env);
  run(GetParam().run(store, env));
}

INSTANTIATE_TEST_SUITE_P(Store, EmbeddedStoreSuite, testing::ValuesIn(store_cases()),
                         [](const auto& c) { return c.param.name; });

// A clock that only the test moves, and tasks that wait for it.
class EmbeddedStoreByHand : public testing::Test {
 protected:
  EmbeddedStoreByHand() { env.manual = true; }
  void start(Task<void> task) {
    group.spawn(std::move(task));
    executor.run_ready();
  }
  void advance(Duration duration) {
    env.advance(duration);
    executor.run_ready();
  }
  static Context context(Executor& executor) {
    Context context;
    context.executor = &executor;
    return context;
  }
  void TearDown() override {
    group.cancel();
    executor.run_ready();
  }
  static Task<void> follow(Watch& watch, std::vector<std::string>& seen) {
    for (;;) {
      const std::string change = co_await next_text(watch);
      seen.push_back(change);
    }
  }

  InlineEnv env;
  Executor executor;
  TaskGroup group{context(executor)};
  EmbeddedStore store{env};
};

TEST_F(EmbeddedStoreByHand, ALeaseEndsExactlyWhenItIsDue) {
  const LeaseId lease = run(store.grant(10s));
  run(put(store, "a", "1", lease));
  advance(10s - 1ns);
  EXPECT_EQ(run(value_of(store, "a")), "1");
  EXPECT_TRUE(run(store.renew(lease)));
  advance(10s - 1ns);
  EXPECT_EQ(run(value_of(store, "a")), "1");
  advance(1ns);
  EXPECT_EQ(run(value_of(store, "a")), "(none)");
  EXPECT_FALSE(run(store.renew(lease)));
}

TEST_F(EmbeddedStoreByHand, AWatchThatWaitsSeesTheLeaseEndThoughNobodyTouchesTheStore) {
  const std::unique_ptr<Watch> watch = store.watch("");
  std::vector<std::string> seen;
  start(follow(*watch, seen));
  // Granted after the wait began, the later deadline first.
  const LeaseId late = run(store.grant(20s));
  const LeaseId early = run(store.grant(10s));
  run(put(store, "late", "1", late));
  run(put(store, "early", "2", early));
  executor.run_ready();
  advance(10s);
  EXPECT_EQ(seen, (std::vector<std::string>{"late=1", "early=2", "early gone"}));
  EXPECT_TRUE(run(store.renew(late)));
  advance(10s);
  EXPECT_EQ(seen.size(), 3U) << "renewed while the watch slept towards its end";
  advance(10s);
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_EQ(seen[3], "late gone");
  TearDown();
}

TEST_F(EmbeddedStoreByHand, KeysOfOneLeaseGoInOneRevision) {
  const LeaseId lease = run(store.grant(1s));
  run(put(store, "a", "1", lease));
  const Committed before = run(put(store, "b", "1", lease));
  advance(1s);
  const Committed after = run(put(store, "c", "1"));
  EXPECT_EQ(after.revision, before.revision + 2);
}

TEST_F(EmbeddedStoreByHand, AWatchMayGoBeforeTheNextChange) {
  std::unique_ptr<Watch> watch = store.watch("");
  run(put(store, "a", "1"));
  EXPECT_EQ(run(next_text(*watch)), "a=1");
  watch.reset();
  run(put(store, "a", "2"));
  EXPECT_EQ(run(value_of(store, "a")), "2");
}

TEST(EmbeddedStoreDeath, ATransactionThatCannotBeIsABug) {
  InlineEnv env;
  EmbeddedStore store(env);
  Transaction twice;
  twice.then = {{.key = "a", .value = "1", .lease = 0}, {.key = "a", .value = "2", .lease = 0}};
  EXPECT_DEATH(run(store.commit(twice)), "changes 'a' twice");
  EXPECT_DEATH(run(put(store, "", "1")), "empty key");
}

}  // namespace
}  // namespace shoal
