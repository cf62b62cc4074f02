// EtcdStore: a Store in an etcd cluster (3.4 or later), over its JSON gateway.
//
//   EtcdStore store(loop, {.endpoints = "http://a:2379,http://b:2379", .prefix = "shoal/my-job/"});
//   const std::optional<Entry> entry = co_await store.get("coordinator");
//
// If a server does not answer (300 ms to connect, 2 s in total), or has no leader, the next one is
// asked; after all were tried, again after a short wait (50 to 500 ms). A watch continues at
// another server within 3 s when its own is silent.
//
// A commit whose answer was lost may have been applied. It is repeated in a way that reveals this:
// in the same step the server checks whether the keys have exactly the values (and leases) that the
// transaction would give them. If so, the commit succeeded, in the revision of the keys. So a
// conditional commit is applied once, and its outcome is right, unless another process writes the
// same values. An unconditional commit is repeated only if the keys differ: if they had the same
// values before, and the answer was lost, there may be no new revision and no event for a watch.
//
// One hole remains, as with every client of etcd: an attempt that was given up after 2 s may still
// be in the log of a cluster without a leader, and be applied after a later answer if its
// conditions hold then. Conditions on the revision of an existing key never hold again.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "membership/store.h"
#include "runtime/live/loop.h"
#include "transport/etcd/http.h"

namespace shoal {

class EtcdCluster;

struct EtcdOptions {
  std::string endpoints;  // "http://HOST:PORT", several separated by commas
  std::string prefix;     // before every key: "shoal/JOB/"
  HttpOptions http = {};
};

// Throws ConfigError if the options are wrong or etcd refuses a call (because it requires a
// password, for example); Corrupt if the answers are not from etcd. Thread safety: none; it belongs
// to the loop's thread. Invariant: the loop outlives it.
class EtcdStore final : public Store {
 public:
  EtcdStore(LiveLoop& loop, const EtcdOptions& options);
  ~EtcdStore() override;

  Task<std::optional<Entry>> get(std::string key) override;
  Task<Committed> commit(Transaction transaction) override;
  std::unique_ptr<Watch> watch(std::string prefix) override;
  Task<LeaseId> grant(Duration ttl) override;  // seconds, rounded up; etcd grants at least 2
  Task<bool> renew(LeaseId lease) override;
  Task<void> revoke(LeaseId lease) override;

 private:
  const std::string prefix_;
  std::unique_ptr<EtcdCluster> cluster_;
};

}  // namespace shoal
