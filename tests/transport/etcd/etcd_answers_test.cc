// EtcdStore with servers that send malformed answers, refuse, or lose answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "etcd_fixture.h"
#include "fake_server.h"
#include "support/etcd_server.h"
#include "support/store_suite.h"
#include "transport/etcd/base64.h"
#include "transport/etcd/http.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using store_suite::next_text;
using store_suite::put;
using store_suite::put_if;
using store_suite::value_of;
using testing::AllOf;
using testing::HasSubstr;

class EtcdAnswers : public EtcdTest {
 protected:
  template <class T>
  std::string corrupt(Task<T> task) {
    try {
      run(std::move(task));
    } catch (const Corrupt& e) {
      return e.what();
    }
    return "(no Corrupt)";
  }
};

TEST_F(EtcdAnswers, NonsenseIsCorruptAndNamesTheServer) {
  const std::string answers[] = {
      http_answer(200, "<html>It works!</html>"), http_answer(200, "{\"header\":\"It works!\"}"),
      http_answer(404, "It works! Not."), http_answer(302, "It works! Elsewhere."),
      http_answer(200, "[\"It works!\"]")};
  for (const std::string& answer : answers) {
    const FakeServer server([&](const std::string&) { return answer; });
    EtcdStore store(loop, at(server.url()));
    const auto names_it = AllOf(HasSubstr(server.url() + "/v3/"), HasSubstr("It works!"),
                                HasSubstr("is this an etcd 3.4 or later?"));
    EXPECT_THAT(corrupt(store.get("a")), names_it);
    EXPECT_THAT(corrupt(put(store, "a", "1")), names_it);
    EXPECT_THAT(corrupt(store.grant(1s)), names_it);
    EXPECT_THAT(corrupt(store.renew(7)), names_it);
    EXPECT_THAT(corrupt(store.revoke(7)), names_it);
    const std::unique_ptr<Watch> watch = store.watch("");
    EXPECT_THAT(corrupt(watch->next()), names_it);
  }
}

TEST_F(EtcdAnswers, NonsenseOnTheStreamOfAWatchIsCorrupt) {
  for (const std::string& text : {std::string("nonsense\n"), std::string("{\"result\":7}\n")}) {
    const FakeServer server([&](const std::string& request) {
      if (request.find("/v3/watch") != std::string::npos) return http_answer(200, text);
      return http_answer(200, "{\"header\":{\"revision\":\"7\"}}");
    });
    EtcdStore store(loop, at(server.url()));
    const std::unique_ptr<Watch> watch = store.watch("");
    EXPECT_THAT(corrupt(watch->next()), HasSubstr(server.url() + "/v3/watch"));
  }
}

TEST_F(EtcdAnswers, ARefusalIsToldToTheUser) {
  const FakeServer server([](const std::string&) {
    return http_answer(400, R"({"message":"etcdserver: user name is empty","code":3})");
  });
  EtcdStore store(loop, at(server.url()));
  try {
    run(put(store, "a", "1"));
    ADD_FAILURE() << "it was not refused";
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("user name is empty"), HasSubstr(server.url())));
  }
}

TEST_F(EtcdAnswers, BadOptionsAreConfigErrors) {
  EXPECT_THROW(EtcdStore(loop, at("localhost:2379")), ConfigError);
  EXPECT_THROW(EtcdStore(loop, at("")), ConfigError);
  EtcdOptions options = at("http://127.0.0.1:2379");
  for (const char* prefix : {"", "/", "shoal/job"}) {
    options.prefix = prefix;
    EXPECT_THROW(EtcdStore(loop, options), ConfigError) << prefix;
  }
}

TEST_F(EtcdAnswers, AServerThatHasNoLeaderOrNeverAnswersIsLeftForTheNext) {
  const EtcdServers etcd;
  const FakeServer leaderless([](const std::string&) {
    return http_answer(503, R"({"message":"etcdserver: no leader","code":14})");
  });
  const FakeServer silent([](const std::string&) { return std::string(); });
  const FakeServer rude([](const std::string&) { return std::nullopt; });
  EtcdOptions options =
      at(leaderless.url() + "," + silent.url() + "," + rude.url() + "," + etcd.url(0));
  options.http.request_timeout = 100ms;
  EtcdStore store(loop, options);
  EXPECT_TRUE(run(put(store, "a", "1")).succeeded);
  EXPECT_GE(leaderless.requests(), 1);
  EXPECT_GE(silent.requests(), 1);
  EXPECT_GE(rude.requests(), 1);
  const int before = leaderless.requests();
  EXPECT_EQ(run(value_of(store, "a")), "1");
  EXPECT_EQ(leaderless.requests(), before) << "the one that answered is asked first";
}

// Its watch gets an answer that ends the stream, though the connection stays open.
class ToldStream : public EtcdAnswers {
 protected:
  static std::string chunk(const std::string& lines) {
    char size[32];
    std::snprintf(size, sizeof size, "%zx\r\n", lines.size());
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + (size + lines) + "\r\n";
  }
  static std::string entry(int modified, const std::string& value) {
    return "{\"key\":\"" + to_base64("shoal/test/a") + "\",\"mod_revision\":\"" +
           std::to_string(modified) + "\",\"value\":\"" + to_base64(value) + "\"}";
  }
  static std::string event(int modified, const std::string& value) {
    return "{\"result\":{\"header\":{},\"events\":[{\"kv\":" + entry(modified, value) + "}]}}\n";
  }
  static std::string range(int revision, const std::string& entries) {
    return http_answer(200, "{\"header\":{\"revision\":\"" + std::to_string(revision) +
                                "\"},\"kvs\":[" + entries + "]}");
  }
};

TEST_F(ToldStream, CompactedRightAfterAnEvent) {
  int watches = 0;
  int ranges = 0;
  const FakeServer server([&](const std::string& request) {
    if (request.find("/v3/watch") == std::string::npos)
      return ++ranges == 1 ? range(7, "") : range(10, entry(10, "2"));
    return ++watches == 1 ? chunk(event(8, "1") +
                                  "{\"result\":{\"header\":{},\"canceled\":true,"
                                  "\"compact_revision\":\"9\"}}\n")
                          : chunk(event(11, "3"));
  });
  EtcdStore store(loop, at(server.url()));
  const std::unique_ptr<Watch> watch = store.watch("");
  for (const char* change : {"a=1", "a=2", "a=3"}) EXPECT_EQ(run(next_text(*watch)), change);
}

TEST_F(ToldStream, CancelledRightAfterAnEvent) {
  int watches = 0;
  std::string second;
  const FakeServer server([&](const std::string& request) {
    if (request.find("/v3/watch") == std::string::npos) return range(7, "");
    if (++watches == 1)
      return chunk(event(8, "1") + "{\"error\":{\"grpc_code\":14,\"message\":\"no leader\"}}\n");
    second = request;
    return chunk(event(8, "again") + event(9, "2"));
  });
  EtcdStore store(loop, at(server.url()));
  const std::unique_ptr<Watch> watch = store.watch("");
  for (const char* change : {"a=1", "a=2"}) EXPECT_EQ(run(next_text(*watch)), change);
  EXPECT_THAT(second, HasSubstr("\"start_revision\":\"9\""));
}

// The reason that commits have connections of their own.
TEST_F(EtcdAnswers, OnlyAKeptConnectionIsRepeatedBehindOurBack) {
  for (const auto connection : {HttpClient::Connection::Kept, HttpClient::Connection::Fresh}) {
    int count = 0;
    const FakeServer server([&](const std::string&) -> std::optional<std::string> {
      if (++count == 2) return std::nullopt;
      return http_answer(200, "fine");
    });
    HttpClient http(loop, {});
    EXPECT_EQ(run(http.post(server.url(), "first", HttpClient::Connection::Kept)).status, 200);
    const HttpAnswer second = run(http.post(server.url(), "second", connection));
    const bool kept = connection == HttpClient::Connection::Kept;
    EXPECT_EQ(second.status, kept ? 200 : 0);
    EXPECT_EQ(server.requests(), kept ? 3 : 2);
    EXPECT_EQ(second.failure.empty(), kept);
    EXPECT_TRUE(second.sent);
  }
}

TEST_F(EtcdAnswers, ARequestThatFoundNobodyWasNotSent) {
  HttpClient http(loop, {});
  const std::string url = "http://127.0.0.1:" + std::to_string(free_port());
  const HttpAnswer answer = run(http.post(url, "body", HttpClient::Connection::Fresh));
  EXPECT_EQ(answer.status, 0);
  EXPECT_FALSE(answer.sent);
  EXPECT_THAT(answer.failure, HasSubstr("refused"));
}

// A real etcd behind a server that loses answers to transactions.
class LostAnswers : public EtcdAnswers {
 protected:
  std::optional<std::string> handle(const std::string& request) {
    const bool is_txn = request.find("/v3/kv/txn") != std::string::npos;
    if (!is_txn || losses_left == 0) return forward(port_, request);
    --losses_left;
    if (delivered) forward(port_, request);
    if (meanwhile) meanwhile();
    return timed_out ? std::optional(http_answer(
                           503, R"({"message":"etcdserver: request timed out","code":14})"))
                     : std::nullopt;
  }
  std::string key(const std::string& name) { return to_base64("shoal/test/" + name); }
  void put_as_another(const std::string& name, const std::string& value) {
    etcd.post(0, "/v3/kv/put",
              "{\"key\":\"" + key(name) + "\",\"value\":\"" + to_base64(value) + "\"}");
  }
  // The number of writes to the key since its creation.
  int version(const std::string& name) {
    const std::string kv = etcd.post(0, "/v3/kv/range", "{\"key\":\"" + key(name) + "\"}");
    const std::size_t at = kv.find("\"version\":\"");
    return at == std::string::npos ? 0 : std::stoi(kv.substr(at + 11));
  }

  EtcdServers etcd;
  const int port_ = std::stoi(etcd.url(0).substr(etcd.url(0).rfind(':') + 1));
  int losses_left = 0;     // that many transactions get no answer;
  bool delivered = true;   // etcd received them nevertheless
  bool timed_out = false;  // status 503 instead of a closed connection
  std::function<void()> meanwhile;
  FakeServer proxy{[this](const std::string& request) { return handle(request); }};
  EtcdStore store{loop, at(proxy.url())};
};

TEST_F(LostAnswers, AConditionalCommitIsAppliedOnceAndSucceeds) {
  for (const bool as_503 : {false, true}) {
    timed_out = as_503;
    const std::string name = as_503 ? "a" : "b";
    losses_left = 3;
    const Committed made = run(put_if(store, name, 0, "me, first"));
    EXPECT_TRUE(made.succeeded);
    const auto entry = run(store.get(name));
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(entry->modified, made.revision);
    EXPECT_EQ(version(name), 1);
    losses_left = 1;
    EXPECT_TRUE(run(put_if(store, name, made.revision, "me, second")).succeeded);
    EXPECT_EQ(version(name), 2);
    losses_left = 1;
    EXPECT_FALSE(run(put_if(store, name, made.revision, "me, third")).succeeded);
    EXPECT_EQ(run(value_of(store, name)), "me, second");
  }
}

TEST_F(LostAnswers, OneThatNeverArrivedIsAppliedByTheRepetition) {
  delivered = false;
  losses_left = 2;
  EXPECT_TRUE(run(put_if(store, "a", 0, "me")).succeeded);
  losses_left = 2;
  EXPECT_TRUE(run(put(store, "b", "me")).succeeded);
  EXPECT_EQ(version("a"), 1);
  EXPECT_EQ(version("b"), 1);
}

TEST_F(LostAnswers, AnotherWhoWasFasterWins) {
  delivered = false;
  losses_left = 1;
  meanwhile = [this] { put_as_another("a", "another"); };
  EXPECT_FALSE(run(put_if(store, "a", 0, "me")).succeeded);
  EXPECT_EQ(run(value_of(store, "a")), "another");
}

TEST_F(LostAnswers, RemovalAndSeveralKeys) {
  const Committed made = run(put(store, "old", "1"));
  Transaction move;
  move.when = {{.key = "old", .modified = made.revision}};
  move.then = {{.key = "old", .value = {}, .lease = 0}, {.key = "new", .value = "1", .lease = 0}};
  losses_left = 1;
  const Committed moved = run(store.commit(move));
  EXPECT_TRUE(moved.succeeded);
  EXPECT_EQ(run(store.get("new"))->modified, moved.revision);
  losses_left = 1;
  EXPECT_FALSE(run(store.commit({.when = {{.key = "old", .modified = 1}}, .then = {}})).succeeded)
      << "no change could tell, none is needed";
}

TEST_F(LostAnswers, WithoutConditionsItIsNotWrittenTwice) {
  const std::unique_ptr<Watch> watch = store.watch("");
  losses_left = 2;
  const Committed made = run(put(store, "a", "me"));
  EXPECT_TRUE(made.succeeded);
  EXPECT_EQ(version("a"), 1);
  EXPECT_EQ(run(store.get("a"))->modified, made.revision);
  const LeaseId lease = run(store.grant(1h));
  losses_left = 1;
  EXPECT_TRUE(run(put(store, "held", "", lease)).succeeded);
  EXPECT_EQ(version("held"), 1);
}

TEST_F(LostAnswers, ALeaseThatIsGoneFailsTheCommitAlsoWhenRepeated) {
  const LeaseId lease = run(store.grant(1h));
  run(store.revoke(lease));
  losses_left = 1;
  EXPECT_FALSE(run(put(store, "held", "me", lease)).succeeded);
}

}  // namespace
}  // namespace shoal
