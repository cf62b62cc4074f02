// The contract of every Store. Each case gets an empty store, and an Env to sleep in.
//
//   for (const StoreCase& c : store_cases()) run(c.run(store, env));
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "membership/store.h"
#include "runtime/env.h"
#include "runtime/task_group.h"

namespace shoal {

struct StoreCase {
  std::string name;
  Task<void> (*run)(Store& store, Env& env);
};

namespace store_suite {

using namespace std::chrono_literals;

inline Task<Committed> put(Store& store, std::string key, std::string value,
                           LeaseId lease = kNoLease) {
  Transaction transaction;
  transaction.then.push_back({.key = std::move(key), .value = std::move(value), .lease = lease});
  return store.commit(std::move(transaction));
}

inline Task<Committed> put_if(Store& store, std::string key, Revision modified, std::string value) {
  Transaction transaction;
  transaction.when.push_back({.key = key, .modified = modified});
  transaction.then.push_back({.key = std::move(key), .value = std::move(value), .lease = 0});
  return store.commit(std::move(transaction));
}

inline Task<Committed> remove(Store& store, std::string key) {
  Transaction transaction;
  transaction.then.push_back({.key = std::move(key), .value = {}, .lease = kNoLease});
  return store.commit(std::move(transaction));
}

// "key=value", or "key gone".
inline std::string text(const Change& change) {
  return change.value ? change.key + "=" + *change.value : change.key + " gone";
}

inline Task<std::string> next_text(Watch& watch) {
  const Change change = co_await watch.next();
  co_return text(change);
}

// The value of a key, "(none)" if there is no such key.
inline Task<std::string> value_of(Store& store, std::string key) {
  std::optional<Entry> entry = co_await store.get(std::move(key));
  if (!entry) co_return "(none)";
  co_return std::move(entry->value);
}

inline Task<void> what_is_put_is_got(Store& store, Env&) {
  const std::string absent = co_await value_of(store, "a");
  EXPECT_EQ(absent, "(none)");
  const Committed first = co_await put(store, "a", "one");
  EXPECT_TRUE(first.succeeded);
  const std::optional<Entry> entry = co_await store.get("a");
  EXPECT_TRUE(entry.has_value());
  if (!entry) co_return;
  EXPECT_EQ(entry->key, "a");
  EXPECT_EQ(entry->value, "one");
  EXPECT_EQ(entry->modified, first.revision);
  const Committed second = co_await put(store, "a", "");
  EXPECT_GT(second.revision, first.revision);
  const std::string empty = co_await value_of(store, "a");
  EXPECT_EQ(empty, "") << "an empty value is a value";
  const Committed third = co_await remove(store, "a");
  EXPECT_TRUE(third.succeeded);
  EXPECT_GT(third.revision, second.revision);
  const std::string gone = co_await value_of(store, "a");
  EXPECT_EQ(gone, "(none)");
  const std::string longer = co_await value_of(store, "aa");
  EXPECT_EQ(longer, "(none)");
}

inline Task<void> any_bytes(Store& store, Env&) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  for (std::size_t cut = 0; cut < 4; ++cut) {  // Every length modulo 3, for base64.
    const std::string value = all.substr(cut);
    const std::string key = "bytes/" + value;
    co_await put(store, key, value);
    const std::optional<Entry> entry = co_await store.get(key);
    EXPECT_TRUE(entry && entry->key == key && entry->value == value) << "cut " << cut;
  }
  const std::string large(300'000, '\xfe');
  co_await put(store, "large", large);
  const std::string read = co_await value_of(store, "large");
  EXPECT_TRUE(read == large) << read.size() << " bytes";
}

inline Task<void> a_condition_that_fails_changes_nothing(Store& store, Env&) {
  const Committed made = co_await put_if(store, "k", 0, "first");
  EXPECT_TRUE(made.succeeded);
  const Committed again = co_await put_if(store, "k", 0, "second");
  EXPECT_FALSE(again.succeeded);
  EXPECT_EQ(again.revision, made.revision);
  const Committed stale = co_await put_if(store, "k", made.revision - 1, "third");
  EXPECT_FALSE(stale.succeeded);
  const std::string value = co_await value_of(store, "k");
  EXPECT_EQ(value, "first");
  const Committed right = co_await put_if(store, "k", made.revision, "fourth");
  EXPECT_TRUE(right.succeeded);
  const Committed absent = co_await put_if(store, "other", 1, "fifth");
  EXPECT_FALSE(absent.succeeded) << "there is no such key";
}

inline Task<void> a_transaction_is_whole(Store& store, Env&) {
  const Committed a = co_await put(store, "a", "1");
  Transaction both;
  both.when = {{.key = "a", .modified = a.revision}, {.key = "b", .modified = 0}};
  both.then = {{.key = "a", .value = "2", .lease = 0},
               {.key = "b", .value = "2", .lease = 0},
               {.key = "c", .value = {}, .lease = 0}};
  Transaction same = both;
  const Committed done = co_await store.commit(std::move(both));
  EXPECT_TRUE(done.succeeded);
  const std::optional<Entry> ea = co_await store.get("a");
  const std::optional<Entry> eb = co_await store.get("b");
  EXPECT_TRUE(ea && ea->value == "2" && ea->modified == done.revision);
  EXPECT_TRUE(eb && eb->value == "2" && eb->modified == done.revision) << "one revision for both";

  same.when = {{.key = "a", .modified = done.revision}, {.key = "b", .modified = 0}};
  same.then[0].value = "3";
  const Committed half = co_await store.commit(std::move(same));
  EXPECT_FALSE(half.succeeded) << "one of two conditions holds";
  const std::string value = co_await value_of(store, "a");
  EXPECT_EQ(value, "2");

  Transaction empty;
  const Committed nothing = co_await store.commit(std::move(empty));
  EXPECT_TRUE(nothing.succeeded);
  EXPECT_EQ(nothing.revision, done.revision);
}

inline Task<void> removing_nothing_is_no_change(Store& store, Env&) {
  const Committed before = co_await put(store, "a", "1");
  const Committed removed = co_await remove(store, "absent");
  EXPECT_TRUE(removed.succeeded);
  EXPECT_EQ(removed.revision, before.revision);
}

inline Task<void> a_watch_begins_with_what_is_there(Store& store, Env&) {
  co_await put(store, "w/b", "2");
  co_await put(store, "w/a", "1");
  co_await put(store, "x", "no");
  co_await put(store, "w/c", "3");
  co_await remove(store, "w/c");
  const std::unique_ptr<Watch> watch = store.watch("w/");
  const std::string first = co_await next_text(*watch);
  const std::string second = co_await next_text(*watch);
  co_await put(store, "v", "no");
  co_await put(store, "w/a", "4");
  co_await put(store, "w0", "no");  // '0' follows '/': the first key after the prefix
  co_await remove(store, "w/b");
  co_await put(store, "w/", "5");
  const std::string third = co_await next_text(*watch);
  const std::string fourth = co_await next_text(*watch);
  const std::string fifth = co_await next_text(*watch);
  EXPECT_EQ(first, "w/a=1");
  EXPECT_EQ(second, "w/b=2");
  EXPECT_EQ(third, "w/a=4");
  EXPECT_EQ(fourth, "w/b gone");
  EXPECT_EQ(fifth, "w/=5");
}

inline Task<void> a_watch_waits(Store& store, Env& env) {
  const std::unique_ptr<Watch> watch = store.watch("");
  const std::unique_ptr<Watch> other = store.watch("n");
  std::vector<std::string> seen;
  std::vector<std::string> seen_by_other;
  const auto follow = [](Watch& w, std::vector<std::string>& out) -> Task<void> {
    for (int i = 0; i < 20; ++i) {
      const std::string change = co_await next_text(w);
      out.push_back(change);
    }
  };
  const auto write = [](Store& s, Env& e) -> Task<void> {
    co_await e.sleep(100ms);
    for (int i = 0; i < 20; ++i) co_await put(s, "n" + std::to_string(i % 3), std::to_string(i));
  };
  const auto body = [&](TaskGroup& group) -> Task<void> {
    group.spawn(follow(*watch, seen));
    group.spawn(follow(*other, seen_by_other));
    group.spawn(write(store, env));
    co_return;
  };
  co_await with_group(body);
  EXPECT_EQ(seen.size(), 20U);
  for (std::size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], "n" + std::to_string(i % 3) + "=" + std::to_string(i));
  EXPECT_EQ(seen_by_other, seen);
}

inline Task<void> a_cancelled_wait_loses_nothing(Store& store, Env& env) {
  const std::unique_ptr<Watch> watch = store.watch("");
  const std::optional<Change> none = co_await timeout(env, 50ms, watch->next());
  EXPECT_FALSE(none.has_value());
  co_await put(store, "a", "1");
  co_await put(store, "b", "2");
  const std::string first = co_await next_text(*watch);
  const std::string second = co_await next_text(*watch);
  EXPECT_EQ(first, "a=1");
  EXPECT_EQ(second, "b=2");
}

inline Task<void> keys_go_with_their_lease(Store& store, Env&) {
  const LeaseId lease = co_await store.grant(1s);
  EXPECT_NE(lease, kNoLease);
  co_await put(store, "l/held", "1", lease);
  co_await put(store, "l/kept", "2", lease);
  co_await put(store, "l/kept", "3");  // Without a lease now.
  const std::unique_ptr<Watch> watch = store.watch("l/");
  const std::string first = co_await next_text(*watch);
  const std::string second = co_await next_text(*watch);
  const std::string third = co_await next_text(*watch);
  EXPECT_EQ(first, "l/held=1");
  EXPECT_EQ(second, "l/kept=3");
  EXPECT_EQ(third, "l/held gone");
  const std::string kept = co_await value_of(store, "l/kept");
  EXPECT_EQ(kept, "3");
  const bool alive = co_await store.renew(lease);
  EXPECT_FALSE(alive);
  const Committed late = co_await put(store, "l/held", "4", lease);
  EXPECT_FALSE(late.succeeded) << "the lease is gone";
  EXPECT_GT(late.revision, 0);
  const std::string held = co_await value_of(store, "l/held");
  EXPECT_EQ(held, "(none)");
}

inline Task<void> a_renewed_lease_lives(Store& store, Env& env) {
  const LeaseId lease = co_await store.grant(1s);
  co_await put(store, "held", "1", lease);
  for (int i = 0; i < 9; ++i) {  // Longer than any store extends a lease of one second.
    co_await env.sleep(400ms);
    const bool alive = co_await store.renew(lease);
    EXPECT_TRUE(alive) << i;
  }
  const std::string held = co_await value_of(store, "held");
  EXPECT_EQ(held, "1");
}

inline Task<void> a_revoked_lease_is_gone_at_once(Store& store, Env&) {
  const LeaseId lease = co_await store.grant(1h);
  const LeaseId other = co_await store.grant(1h);
  EXPECT_NE(lease, other);
  co_await put(store, "a", "1", lease);
  co_await put(store, "b", "2", other);
  co_await store.revoke(lease);
  const std::string a = co_await value_of(store, "a");
  const std::string b = co_await value_of(store, "b");
  EXPECT_EQ(a, "(none)");
  EXPECT_EQ(b, "2");
  co_await store.revoke(lease);
  const bool alive = co_await store.renew(lease);
  EXPECT_FALSE(alive);
  const bool other_alive = co_await store.renew(other);
  EXPECT_TRUE(other_alive);
}

// The election: many try to be the first, one succeeds.
inline Task<void> one_of_many_wins(Store& store, Env&) {
  int winners = 0;
  std::string winner;
  const auto candidate = [](Store& s, std::string name, int& count,
                            std::string& who) -> Task<void> {
    const Committed committed = co_await put_if(s, "leader", 0, name);
    if (!committed.succeeded) co_return;
    ++count;
    who = name;
  };
  const auto body = [&](TaskGroup& group) -> Task<void> {
    for (int i = 0; i < 8; ++i)
      group.spawn(candidate(store, "node " + std::to_string(i), winners, winner));
    co_return;
  };
  co_await with_group(body);
  EXPECT_EQ(winners, 1);
  const std::string leader = co_await value_of(store, "leader");
  EXPECT_EQ(leader, winner);
}

}  // namespace store_suite

inline std::vector<StoreCase> store_cases() {
  using namespace store_suite;
  return {
      {"what_is_put_is_got", what_is_put_is_got},
      {"any_bytes", any_bytes},
      {"a_condition_that_fails_changes_nothing", a_condition_that_fails_changes_nothing},
      {"a_transaction_is_whole", a_transaction_is_whole},
      {"removing_nothing_is_no_change", removing_nothing_is_no_change},
      {"a_watch_begins_with_what_is_there", a_watch_begins_with_what_is_there},
      {"a_watch_waits", a_watch_waits},
      {"a_cancelled_wait_loses_nothing", a_cancelled_wait_loses_nothing},
      {"keys_go_with_their_lease", keys_go_with_their_lease},
      {"a_renewed_lease_lives", a_renewed_lease_lives},
      {"a_revoked_lease_is_gone_at_once", a_revoked_lease_is_gone_at_once},
      {"one_of_many_wins", one_of_many_wins},
  };
}

}  // namespace shoal
