// EmbeddedStore: a Store in the memory of one process, for jobs on one machine, for the simulator
// and for tests. It is lost with the process.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/list.h"
#include "base/types.h"
#include "membership/store.h"
#include "runtime/channel.h"
#include "runtime/env.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its Env. Invariants:
// 1. An expired lease is never visible: every access first ends the expired ones, and a waiting
//    watch sleeps no longer than until the next expiry.
// 2. A key with a lease is in the set of that lease, and only there.
class EmbeddedStore final : public Store {
 public:
  explicit EmbeddedStore(Env& env) : env_(&env) {}

  Task<std::optional<Entry>> get(std::string key) override;
  Task<Committed> commit(Transaction transaction) override;
  std::unique_ptr<Watch> watch(std::string prefix) override;
  Task<LeaseId> grant(Duration ttl) override;
  Task<bool> renew(LeaseId lease) override;
  Task<void> revoke(LeaseId lease) override;

 private:
  class Follower;
  struct Item {
    std::string value;
    Revision modified = 0;
    LeaseId lease = kNoLease;
  };
  struct Lease {
    Duration ttl{};
    Time ends{};
    std::set<std::string> keys;
  };

  bool holds(const Transaction& transaction) const;
  void apply(const Change& change);
  void detach(const std::string& key, Item& item);
  void end_lease(LeaseId lease);
  void expire();
  std::optional<Time> next_expiry() const;
  Task<void> after(std::uint64_t seen);  // waits for a change after the first `seen` ones
  void tell();

  Env* env_;
  Revision revision_ = 1;  // as in an empty etcd
  std::map<std::string, Item> items_;
  std::map<LeaseId, Lease> leases_;
  LeaseId last_lease_ = kNoLease;
  std::uint64_t changes_ = 0;  // of keys and leases
  Signal changed_;
  List<Follower, struct InStore> followers_;
};

}  // namespace shoal
