// etcd's JSON: parsing, refusals, and the judgment of a repeated transaction.
#include "transport/etcd/etcd_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "transport/etcd/base64.h"
#include "transport/etcd/etcd_cluster.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "(none)";
}

TEST(Base64, TheVectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, AllBytesThereAndBack) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  for (std::size_t cut = 0; cut < 256; ++cut)
    EXPECT_EQ(from_base64(to_base64(all.substr(cut))), all.substr(cut)) << cut;
}

TEST(Base64, WhatIsNoneIsRefused) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg==Zg==", "Z===", "====", "Zm9-", "Zm 9v", "Zm9v\n"})
    EXPECT_FALSE(from_base64(text).has_value()) << text;
}

TEST(EtcdJson, AnEmptyStoreHasARevisionAndNoEntries) {
  const RangeReply reply = parse_range(
      {"u", R"({"header":{"cluster_id":"14841639068965178418","revision":"1","raft_term":"2"}})"});
  EXPECT_EQ(reply.revision, 1);
  EXPECT_TRUE(reply.items.empty());
}

TEST(EtcdJson, AbsentFieldsAreZero) {
  const RangeReply reply = parse_range({"u", R"({"header":{"revision":"9223372036854775807"},
      "kvs":[{"key":"Zm9v","create_revision":"3","mod_revision":"4","version":"1"},
             {"key":"Zg==","mod_revision":"5","value":"YmFy","lease":"7587869157041271568"}]})"});
  EXPECT_EQ(reply.revision, 9223372036854775807);
  ASSERT_EQ(reply.items.size(), 2U);
  EXPECT_EQ(reply.items[0].entry.key, "foo");
  EXPECT_EQ(reply.items[0].entry.value, "");
  EXPECT_EQ(reply.items[0].entry.modified, 4);
  EXPECT_EQ(reply.items[0].lease, kNoLease);
  EXPECT_EQ(reply.items[1].entry.value, "bar");
  EXPECT_EQ(reply.items[1].lease, 7587869157041271568);
}

TEST(EtcdJson, AFailedTransactionHasNoSucceeded) {
  EXPECT_FALSE(parse_txn({"u", R"({"header":{"revision":"2"}})"}).succeeded);
  EXPECT_TRUE(parse_txn({"u", R"({"header":{"revision":"2"},"succeeded":true})"}).succeeded);
}

TEST(EtcdJson, ALeaseThatIsGoneHasNoTtl) {
  EXPECT_FALSE(parse_keepalive({"u", R"({"result":{"header":{"revision":"3"},"ID":"77"}})"}));
  EXPECT_TRUE(
      parse_keepalive({"u", R"({"result":{"header":{"revision":"3"},"ID":"77","TTL":"2"}})"}));
}

TEST(EtcdJson, AWatchHasPutsWithoutATypeRemovalsAndItsEnd) {
  const WatchReply events = parse_watch({"u", R"({"result":{"header":{"revision":"9"},"events":[
      {"kv":{"key":"Zm9v","mod_revision":"8","value":"YmFy"}},
      {"type":"DELETE","kv":{"key":"Zm9v","mod_revision":"9"}}]}})"});
  ASSERT_EQ(events.events.size(), 2U);
  EXPECT_EQ(events.events[0].change.value, "bar");
  EXPECT_EQ(events.events[0].modified, 8);
  EXPECT_EQ(events.events[1].change.key, "foo");
  EXPECT_FALSE(events.events[1].change.value.has_value());

  const WatchReply end = parse_watch(
      {"u", R"({"result":{"header":{"raft_term":"2"},"canceled":true,"compact_revision":"5"}})"});
  EXPECT_TRUE(end.cancelled);
  EXPECT_EQ(end.compacted, 5);
  const WatchReply error =
      parse_watch({"u", R"({"error":{"grpc_code":14,"http_code":503,"message":"no leader"}})"});
  EXPECT_EQ(error.error, "no leader");
}

TEST(EtcdJson, WhatIsNoAnswerIsCorruptAndNamed) {
  const char* const texts[] = {
      "",
      "hello",
      "null",
      "[]",
      "{}",
      R"({"header":{}})",
      R"({"header":7})",
      R"({"header":{"revision":"x"}})",
      R"({"header":{"revision":"1x"}})",
      R"({"header":{"revision":"99999999999999999999"}})",
      R"({"header":{"revision":"1"},"kvs":{}})",
      R"({"header":{"revision":"1"},"kvs":[1]})",
      R"({"header":{"revision":"1"},"kvs":[{"key":"Zg=="}]})",
      R"({"header":{"revision":"1"},"kvs":[{"key":"?","mod_revision":"1"}]})",
      R"({"header":{"revision":"1"},"kvs":[{"key":7,"mod_revision":"1"}]})"};
  for (const char* text : texts) {
    EXPECT_THAT(error_of([&] {
                  parse_range({"http://h:1/v3/kv/range", text});
                }),
                AllOf(HasSubstr("http://h:1/v3/kv/range"), HasSubstr("etcd 3.4 or later?")))
        << text;
  }
  EXPECT_THROW(parse_txn({"u", R"({"header":{"revision":"1"},"succeeded":"yes"})"}), Corrupt);
  EXPECT_THROW(parse_watch({"u", R"({"result":{}})"}), Corrupt);
  EXPECT_THROW(parse_watch({"u", R"({"result":{"header":{},"events":[{"type":"X","kv":{"key":"Zg==",
                            "mod_revision":"1"}}]}})"}),
               Corrupt);
  EXPECT_THROW(parse_grant({"u", R"({"header":{"revision":"1"}})"}), Corrupt);
  EXPECT_THROW(parse_keepalive({"u", "{}"}), Corrupt);
}

TEST(EtcdJson, TheErrorShowsTheFirstHundredCharactersAndNoControlCharacter) {
  const std::string text = "\x1b[31m" + std::string(500, 'x');
  const std::string error = error_of([&] { parse_range({"u", text}); });
  EXPECT_THAT(error, HasSubstr("'?[31m" + std::string(95, 'x') + "'"));
}

TEST(EtcdJson, ARefusalHasACodeAndAMessage) {
  const auto refusal = parse_refusal(R"({"error":"e","message":"lease not found","code":5})");
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->code, grpc::kNotFound);
  EXPECT_EQ(refusal->message, "lease not found");
  for (const char* text :
       {"Not Found", "{}", "[]", R"({"code":"5","message":"m"})", "{\"code\":5}"})
    EXPECT_FALSE(parse_refusal(text).has_value()) << text;
}

class Repeated : public testing::Test {
 protected:
  static EtcdItem item(std::string key, std::string value, Revision modified, LeaseId lease = 0) {
    return {.entry = {.key = std::move(key), .value = std::move(value), .modified = modified},
            .lease = lease};
  }
  Repeated() {
    conditional.when = {{.key = "a", .modified = 0}};
    conditional.then = {{.key = "a", .value = "me", .lease = 5},
                        {.key = "b", .value = "me too", .lease = 0},
                        {.key = "c", .value = {}, .lease = 0}};
    reply.revision = 20;
    reply.items = {item("a", "me", 11, 5), item("b", "me too", 11)};
  }
  Transaction conditional;
  TxnReply reply;  // the condition failed, and the keys were read
};

TEST_F(Repeated, OurOwnValuesMeanThatTheFirstAttemptSucceeded) {
  const Committed committed = repeated(conditional, reply);
  EXPECT_TRUE(committed.succeeded);
  EXPECT_EQ(committed.revision, 11) << "the revision of the change, not of the look at it";
}

TEST_F(Repeated, AppliedOnlyNow) {
  reply.succeeded = true;
  reply.items.clear();
  const Committed committed = repeated(conditional, reply);
  EXPECT_TRUE(committed.succeeded);
  EXPECT_EQ(committed.revision, 20);
}

TEST_F(Repeated, AnythingElseIsAnother) {
  const auto fails = [&](std::vector<EtcdItem> items) {
    reply.items = std::move(items);
    return !repeated(conditional, reply).succeeded;
  };
  EXPECT_TRUE(fails({}));
  EXPECT_TRUE(fails({item("a", "me", 11, 5)})) << "b is missing";
  EXPECT_TRUE(fails({item("a", "you", 11, 5), item("b", "me too", 11)}));
  EXPECT_TRUE(fails({item("a", "me", 11, 6), item("b", "me too", 11)})) << "another lease";
  EXPECT_TRUE(fails({item("a", "me", 11, 5), item("b", "me too", 12)})) << "another revision";
  EXPECT_TRUE(fails({item("a", "me", 11, 5), item("b", "me too", 11), item("c", "x", 9)}))
      << "c would have been removed";
}

TEST_F(Repeated, WithoutConditionsItAlwaysSucceeds) {
  conditional.when.clear();
  reply.succeeded = true;  // "is it done already?" yes
  EXPECT_EQ(repeated(conditional, reply).revision, 11);
  reply.succeeded = false;
  reply.items.clear();
  EXPECT_TRUE(repeated(conditional, reply).succeeded);
  EXPECT_EQ(repeated(conditional, reply).revision, 20);
}

TEST(Endpoints, OneOrSeveral) {
  EXPECT_THAT(parse_endpoints("http://127.0.0.1:2379"), ElementsAre("http://127.0.0.1:2379"));
  EXPECT_THAT(parse_endpoints("http://a:1/,http://[::1]:2,http://c.d:65535"),
              ElementsAre("http://a:1", "http://[::1]:2", "http://c.d:65535"));
}

TEST(Endpoints, WhatIsWrongIsNamed) {
  const char* const lists[] = {"",
                               ",",
                               "127.0.0.1:2379",
                               "https://a:1",
                               "http://a",
                               "http://:1",
                               "http://a:",
                               "http://a:0",
                               "http://a:65536",
                               "http://a:1x",
                               "http://a:1,",
                               "http://a:1,,http://b:1",
                               "http://a:1;http://b:1",
                               "http://a:1/v3",
                               "http://u@a:1",
                               "http://a b:1",
                               "http://::1:2"};
  for (const char* list : lists) {
    EXPECT_THROW(parse_endpoints(list), ConfigError) << list;
    EXPECT_THAT(error_of([&] { parse_endpoints(list); }), HasSubstr("http://HOST:PORT")) << list;
  }
  EXPECT_THAT(error_of([] { parse_endpoints("http://a:1,b:2"); }),
              HasSubstr("'b:2' does not begin with http://"));
}

}  // namespace
}  // namespace shoal
