// EtcdStore on healthy real etcd servers: the suite of all stores, and concurrent jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "etcd_fixture.h"
#include "support/etcd_server.h"
#include "support/store_suite.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using store_suite::next_text;
using store_suite::put;
using store_suite::value_of;

class EtcdStoreTest : public EtcdTest {
 protected:
  // One server serves all cases, each as a job of its own: starting one takes a second.
  void pass_the_suite(const EtcdServers& etcd) {
    for (const StoreCase& c : store_cases()) {
      SCOPED_TRACE(c.name);
      EtcdStore store(loop, at(etcd.endpoints(), c.name));
      run(c.run(store, env));
    }
  }
};

TEST_F(EtcdStoreTest, PassesTheSuiteOnOneServer) {
  const EtcdServers etcd;
  pass_the_suite(etcd);
}

TEST_F(EtcdStoreTest, PassesTheSuiteOnThreeServers) {
  const EtcdServers etcd(3);
  pass_the_suite(etcd);
}

TEST_F(EtcdStoreTest, JobsDoNotSeeEachOther) {
  const EtcdServers etcd;
  EtcdStore one(loop, at(etcd.endpoints(), "one"));
  EtcdStore two(loop, at(etcd.endpoints(), "two"));
  run(put(one, "a", "1"));
  run(put(two, "a", "2"));
  run(put(two, "b", "2"));
  EXPECT_EQ(run(value_of(one, "a")), "1");
  EXPECT_EQ(run(value_of(one, "b")), "(none)");
  const std::unique_ptr<Watch> watch = one.watch("");
  EXPECT_EQ(run(next_text(*watch)), "a=1");
  run(put(one, "c", "3"));
  EXPECT_EQ(run(next_text(*watch)), "c=3");
}

TEST_F(EtcdStoreTest, AnIdleStoreLeavesTheLoopAsleep) {
  const EtcdServers etcd;
  EtcdStore store(loop, at(etcd.endpoints()));
  run(put(store, "a", "1"));
  const std::uint64_t before = loop.turns();
  const auto sleep = [](Env& e) -> Task<void> { co_await e.sleep(300ms); };
  run(sleep(env));
  EXPECT_LE(loop.turns() - before, 20U);
}

}  // namespace
}  // namespace shoal
