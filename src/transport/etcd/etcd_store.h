// EtcdStore: a Store in an etcd cluster (3.4 or later), over its JSON gateway.
//
//   EtcdStore store(loop, {.endpoints = "http://a:2379,http://b:2379", .prefix = "shoal/my-job/"});
//   const std::optional<Entry> entry = co_await store.get("coordinator");
//
// A server that does not answer (300 ms to connect, 2 s in all), or that has no leader, is left for
// the next one; when all were tried, after a short wait (50 to 500 ms), again. A watch goes on at
// another server within 3 s when its own falls silent.
//
// A commit whose answer was lost may have been applied. It is then repeated in a way that tells:
// the server looks, in the same step, whether the keys have exactly the values (and leases) that
// the transaction would give them. If so it succeeded, in the revision that they have. So a
// conditional commit is applied once, and its outcome is right, if nobody else writes the same
// values. One without conditions is written again only where the keys differ: if they had the same
// values before, and the answer was lost, there may be no new revision and nothing for a watch.
//
// One hole is left, as with every client of etcd: an attempt that was given up after 2 s may still
// be in the log of a cluster that had no leader, and be applied after a later answer, if its
// conditions hold then. Conditions on the revision of a key that exists never hold again.
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

// Throws ConfigError where the options are wrong, and where etcd refuses a call (it wants a
// password, say); Corrupt where what answers is no etcd.
// Thread safety: none; it belongs to the loop's thread. Invariant: the loop outlives it.
class EtcdStore final : public Store {
 public:
  EtcdStore(LiveLoop& loop, const EtcdOptions& options);
  ~EtcdStore() override;

  Task<std::optional<Entry>> get(std::string key) override;
  Task<Committed> commit(Transaction transaction) override;
  std::unique_ptr<Watch> watch(std::string prefix) override;
  Task<LeaseId> grant(Duration ttl) override;  // whole seconds, rounded up; etcd grants 2 at least
  Task<bool> renew(LeaseId lease) override;
  Task<void> revoke(LeaseId lease) override;

 private:
  const std::string prefix_;
  std::unique_ptr<EtcdCluster> cluster_;
};

}  // namespace shoal
