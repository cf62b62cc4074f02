// EtcdStore on real etcd servers that stop, die, freeze and compact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "etcd_fixture.h"
#include "support/etcd_server.h"
#include "support/store_suite.h"
#include "transport/etcd/base64.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using store_suite::next_text;
using store_suite::put;
using store_suite::put_if;
using store_suite::value_of;
using testing::ElementsAre;

// Counts in one key, each step conditional on the previous one: a lost or repeated step is noticed.
class Counter {
 public:
  Task<void> step(Store& store) {
    const Committed committed = co_await put_if(store, "n", revision_, std::to_string(++value_));
    EXPECT_TRUE(committed.succeeded) << value_;
    revision_ = committed.revision;
  }
  Task<void> steps(Store& store, int n) {
    for (int i = 0; i < n; ++i) co_await step(store);
  }
  int value() const { return value_; }

 private:
  Revision revision_ = 0;
  int value_ = 0;
};

// Expects n=first .. n=last, each once and in order.
Task<void> follow(Watch& watch, int first, int last) {
  for (int i = first; i <= last; ++i) {
    const std::string change = co_await next_text(watch);
    EXPECT_EQ(change, "n=" + std::to_string(i));
  }
}

Task<void> both(Task<void> a, Task<void> b) {
  const auto body = [&](TaskGroup& group) -> Task<void> {
    group.spawn(std::move(a));
    group.spawn(std::move(b));
    co_return;
  };
  co_await with_group(body);
}

class EtcdFailures : public EtcdTest {};

TEST_F(EtcdFailures, AWatchSurvivesRestartsWithoutLossOrRepetition) {
  EtcdServers etcd;
  EtcdStore store(loop, at(etcd.endpoints()));
  const std::unique_ptr<Watch> watch = store.watch("n");
  Counter counter;
  run(both(counter.steps(store, 10), follow(*watch, 1, 10)));
  for (const int signal : {SIGTERM, SIGKILL, SIGTERM, SIGKILL}) {
    const int before = counter.value();
    etcd.stop(0, signal);
    const auto restart = [](EtcdServers& servers, Env& e) -> Task<void> {
      co_await e.sleep(100ms);
      servers.launch(0);
    };
    // The writer and the watch are both active while the server is away.
    const auto count = [](Counter& c, Store& s, Task<void> meanwhile) -> Task<void> {
      co_await both(c.steps(s, 10), std::move(meanwhile));
    };
    run(both(count(counter, store, restart(etcd, env)), follow(*watch, before + 1, before + 10)));
  }
  EXPECT_EQ(counter.value(), 50);
}

// The server dies at any moment of a commit, not only between commits.
TEST_F(EtcdFailures, KilledInTheMiddleOfCommitsEachIsAppliedOnce) {
  EtcdServers etcd;
  EtcdStore store(loop, at(etcd.endpoints()));
  const std::unique_ptr<Watch> watch = store.watch("n");
  Counter counter;
  const auto kill = [](EtcdServers& servers, Env& e) -> Task<void> {
    for (int i = 0; i < 4; ++i) {
      co_await e.sleep(std::chrono::milliseconds(1500 + 77 * i));
      servers.stop(0, SIGKILL);
      servers.launch(0);
    }
  };
  bool stop = false;
  const auto until_stopped = [](Counter& c, Store& s, const bool& end) -> Task<void> {
    while (!end) co_await c.step(s);
  };
  const auto then = [](Task<void> task, bool& flag) -> Task<void> {
    co_await std::move(task);
    flag = true;
  };
  run(both(until_stopped(counter, store, stop), then(kill(etcd, env), stop)));
  EXPECT_GT(counter.value(), 10);
  run(counter.step(store));
  // The watch begins now: it sees only the end of the story.
  EXPECT_EQ(run(next_text(*watch)), "n=" + std::to_string(counter.value()));
  const std::string kv =
      etcd.post(0, "/v3/kv/range", "{\"key\":\"" + to_base64("shoal/test/n") + "\"}");
  EXPECT_NE(kv.find("\"version\":\"" + std::to_string(counter.value()) + "\""), std::string::npos)
      << "written more often than counted: " << kv;
}

TEST_F(EtcdFailures, CallsMadeWhileItIsDownAreAnsweredWhenItIsBack) {
  EtcdServers etcd;
  EtcdStore store(loop, at(etcd.endpoints()));
  const LeaseId lease = run(store.grant(1h));
  run(put(store, "a", "1"));
  const std::unique_ptr<Watch> watch = store.watch("b");
  etcd.stop(0, SIGKILL);
  int answered = 0;
  const auto get = [](Store& s, int& n) -> Task<void> {
    const std::string value = co_await value_of(s, "a");
    EXPECT_EQ(value, "1");
    ++n;
  };
  const auto commit = [](Store& s, int& n) -> Task<void> {
    const Committed committed = co_await put(s, "b", "2");
    EXPECT_TRUE(committed.succeeded);
    ++n;
  };
  const auto follow_b = [](Watch& w, int& n) -> Task<void> {
    const std::string change = co_await next_text(w);
    EXPECT_EQ(change, "b=2");
    ++n;
  };
  const auto leases = [](Store& s, LeaseId id, int& n) -> Task<void> {
    const bool alive = co_await s.renew(id);
    EXPECT_TRUE(alive);
    const LeaseId other = co_await s.grant(1h);
    EXPECT_NE(other, id);
    co_await s.revoke(id);
    ++n;
  };
  const auto restart = [](EtcdServers& servers, Env& e, const int& n) -> Task<void> {
    co_await e.sleep(700ms);
    EXPECT_EQ(n, 0);
    servers.launch(0);
  };
  run(both(both(both(get(store, answered), commit(store, answered)),
                both(follow_b(*watch, answered), leases(store, lease, answered))),
           restart(etcd, env, answered)));
  EXPECT_EQ(answered, 4);
}

TEST_F(EtcdFailures, AnyOneOfThreeIsKilledAndItGoesOn) {
  EtcdServers etcd(3);
  EtcdStore store(loop, at(etcd.endpoints()));
  const std::unique_ptr<Watch> watch = store.watch("n");
  Counter counter;
  run(both(counter.steps(store, 5), follow(*watch, 1, 5)));
  for (std::size_t i = 0; i < etcd.size(); ++i) {
    etcd.stop(i, SIGKILL);
    const int before = counter.value();
    run(both(counter.steps(store, 10), follow(*watch, before + 1, before + 10)));
    etcd.start(i);
  }
}

TEST_F(EtcdFailures, AnyOneOfThreeIsFrozenAndItGoesOn) {
  EtcdServers etcd(3);
  EtcdStore store(loop, at(etcd.endpoints()));
  const std::unique_ptr<Watch> watch = store.watch("n");
  Counter counter;
  run(both(counter.steps(store, 5), follow(*watch, 1, 5)));
  for (std::size_t i = 0; i < etcd.size(); ++i) {
    etcd.signal(i, SIGSTOP);
    const int before = counter.value();
    run(both(counter.steps(store, 3), follow(*watch, before + 1, before + 3)));
    etcd.signal(i, SIGCONT);
    etcd.wait_until_healthy();
  }
}

TEST_F(EtcdFailures, CompactionWhileAWatchIsBehindSkipsToWhatIsThere) {
  EtcdServers etcd;
  EtcdStore store(loop, at(etcd.endpoints()));
  EtcdStore other(loop, at(etcd.endpoints()));
  run(put(store, "w/changed", "1"));
  run(put(store, "w/gone", "1"));
  run(put(store, "w/same", "1"));
  const std::unique_ptr<Watch> watch = store.watch("w/");
  for (const char* change : {"w/changed=1", "w/gone=1", "w/same=1"})
    EXPECT_EQ(run(next_text(*watch)), change);
  run(put(store, "w/last", "1"));
  EXPECT_EQ(run(next_text(*watch)), "w/last=1") << "now it has a stream";

  // The loop does not run while the server restarts, so that the watch does not notice.
  etcd.stop(0, SIGKILL);
  etcd.start(0);
  const auto change_it = [&](const std::string& key, const std::string& value) {
    etcd.post(0, "/v3/kv/put",
              "{\"key\":\"" + to_base64("shoal/test/" + key) + "\",\"value\":\"" +
                  to_base64(value) + "\"}");
  };
  change_it("w/changed", "2");
  change_it("w/changed", "3");
  change_it("w/new", "1");
  etcd.post(0, "/v3/kv/deleterange", "{\"key\":\"" + to_base64("shoal/test/w/gone") + "\"}");
  const std::string at_end =
      etcd.post(0, "/v3/kv/put", "{\"key\":\"" + to_base64("elsewhere") + "\"}");
  const std::size_t revision = at_end.find("\"revision\":\"") + 12;
  const std::string compacted =
      etcd.post(0, "/v3/kv/compaction",
                "{\"physical\":true,\"revision\":\"" +
                    at_end.substr(revision, at_end.find('"', revision) - revision) + "\"}");
  ASSERT_EQ(compacted.find("error"), std::string::npos) << compacted;

  std::vector<std::string> seen;
  for (int i = 0; i < 3; ++i) seen.push_back(run(next_text(*watch)));
  EXPECT_THAT(seen, ElementsAre("w/gone gone", "w/changed=3", "w/new=1"));
  run(put(other, "w/new", "2"));
  EXPECT_EQ(run(next_text(*watch)), "w/new=2") << "and it goes on";
}

TEST_F(EtcdFailures, AWaitForADeadEtcdIsReportedAndCanBeCancelled) {
  const int port = free_port();
  LoopOptions options;
  options.stall_after = 100ms;
  LiveLoop own_loop(options);
  LiveEnv own_env(own_loop, {});
  std::vector<std::string> report;
  own_loop.on_stall([&](const std::vector<std::string>& lines) { report = lines; });
  EtcdStore store(own_loop, at("http://127.0.0.1:" + std::to_string(port)));
  const auto body = [](Store& s, Env& e) -> Task<void> {
    const auto got = co_await timeout(e, 600ms, s.get("a"));
    EXPECT_FALSE(got.has_value());
    const std::unique_ptr<Watch> watch = s.watch("");
    const auto change = co_await timeout(e, 50ms, watch->next());
    EXPECT_FALSE(change.has_value());
  };
  run_task(own_loop, body(store, own_env));
  ASSERT_EQ(report.size(), 1U);
  EXPECT_THAT(report[0], testing::AllOf(testing::HasSubstr("/v3/kv/range"),
                                        testing::HasSubstr(std::to_string(port)),
                                        testing::HasSubstr("refused")));
}

}  // namespace
}  // namespace shoal
