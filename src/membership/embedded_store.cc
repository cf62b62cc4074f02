#include "membership/embedded_store.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "base/check.h"
#include "runtime/task_group.h"

namespace shoal {

class EmbeddedStore::Follower final : public Watch, public ListHook<struct InStore> {
 public:
  Follower(EmbeddedStore& store, std::string prefix) : store_(&store), prefix_(std::move(prefix)) {}
  ~Follower() override { unlink(); }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  Task<Change> next() override;
  void tell(const Change& change) {
    if (change.key.starts_with(prefix_)) news_.push_back(change);
  }

 private:
  void begin();

  EmbeddedStore* store_;
  std::string prefix_;
  std::deque<Change> news_;
};

void EmbeddedStore::Follower::begin() {
  for (auto it = store_->items_.lower_bound(prefix_); it != store_->items_.end(); ++it) {
    if (!it->first.starts_with(prefix_)) break;
    news_.push_back({.key = it->first, .value = it->second.value, .lease = it->second.lease});
  }
  store_->followers_.push_back(*this);
}

Task<Change> EmbeddedStore::Follower::next() {
  store_->expire();
  if (!linked()) begin();
  while (news_.empty()) {
    const std::uint64_t seen = store_->changes_;
    const std::optional<Time> expiry = store_->next_expiry();
    if (expiry) {
      // Either end leads to another look.
      co_await timeout(*store_->env_, *expiry - store_->env_->now(), store_->after(seen));
    } else {
      co_await store_->after(seen);
    }
    store_->expire();
  }
  Change change = std::move(news_.front());
  news_.pop_front();
  co_return change;
}

// Counts changes, because one may come between the decision to wait and the wait.
Task<void> EmbeddedStore::after(std::uint64_t seen) {
  while (changes_ == seen) co_await changed_.wait();
}

void EmbeddedStore::tell() {
  ++changes_;
  changed_.notify_all();
}

std::unique_ptr<Watch> EmbeddedStore::watch(std::string prefix) {
  return std::make_unique<Follower>(*this, std::move(prefix));
}

Task<std::optional<Entry>> EmbeddedStore::get(std::string key) {
  SHOAL_CHECK(!key.empty(), "a key is empty");
  expire();
  std::optional<Entry> found;
  const auto it = items_.find(key);
  if (it != items_.end()) {
    found =
        Entry{.key = std::move(key), .value = it->second.value, .modified = it->second.modified};
  }
  co_return found;
}

Task<Committed> EmbeddedStore::commit(Transaction transaction) {
  expire();
  check_valid(transaction);
  Committed committed;
  committed.succeeded = holds(transaction);
  if (committed.succeeded) {
    const auto alters = [this](const Change& change) {
      return change.value.has_value() || items_.contains(change.key);
    };
    // All changes of a transaction are one revision; the removal of an absent key is no change.
    if (std::ranges::any_of(transaction.then, alters)) ++revision_;
    for (const Change& change : transaction.then) apply(change);
  }
  committed.revision = revision_;
  co_return committed;
}

bool EmbeddedStore::holds(const Transaction& transaction) const {
  for (const Condition& condition : transaction.when) {
    const auto it = items_.find(condition.key);
    if ((it == items_.end() ? 0 : it->second.modified) != condition.modified) return false;
  }
  return std::ranges::all_of(transaction.then, [this](const Change& change) {
    return !change.value || change.lease == kNoLease || leases_.contains(change.lease);
  });
}

void EmbeddedStore::apply(const Change& change) {
  if (change.value) {
    Item& item = items_[change.key];
    detach(change.key, item);
    item = {.value = *change.value, .modified = revision_, .lease = change.lease};
    if (change.lease != kNoLease) leases_.at(change.lease).keys.insert(change.key);
  } else {
    const auto it = items_.find(change.key);
    if (it == items_.end()) return;
    detach(change.key, it->second);
    items_.erase(it);
  }
  followers_.each([&](Follower& follower) { follower.tell(change); });
  tell();
}

void EmbeddedStore::detach(const std::string& key, Item& item) {
  if (item.lease == kNoLease) return;
  leases_.at(item.lease).keys.erase(key);
  item.lease = kNoLease;
}

Task<LeaseId> EmbeddedStore::grant(Duration ttl) {
  SHOAL_CHECK(ttl > Duration::zero(), "a lease of {} s", seconds(ttl));
  expire();
  const LeaseId lease = ++last_lease_;
  leases_.emplace(lease, Lease{.ttl = ttl, .ends = env_->now() + ttl, .keys = {}});
  tell();  // it may be the next lease to run out
  co_return lease;
}

Task<bool> EmbeddedStore::renew(LeaseId lease) {
  expire();
  const auto it = leases_.find(lease);
  if (it == leases_.end()) co_return false;
  it->second.ends = env_->now() + it->second.ttl;
  co_return true;
}

Task<void> EmbeddedStore::revoke(LeaseId lease) {
  expire();
  if (leases_.contains(lease)) end_lease(lease);
  co_return;
}

void EmbeddedStore::end_lease(LeaseId lease) {
  const std::set<std::string> keys = leases_.at(lease).keys;
  if (!keys.empty()) ++revision_;
  for (const std::string& key : keys) apply({.key = key, .value = {}, .lease = kNoLease});
  leases_.erase(lease);
}

void EmbeddedStore::expire() {
  const Time now = env_->now();
  std::vector<LeaseId> due;
  for (const auto& [id, lease] : leases_)
    if (lease.ends <= now) due.push_back(id);
  for (const LeaseId lease : due) end_lease(lease);
}

std::optional<Time> EmbeddedStore::next_expiry() const {
  std::optional<Time> first;
  for (const auto& [id, lease] : leases_)
    if (!first || lease.ends < *first) first = lease.ends;
  return first;
}

}  // namespace shoal
