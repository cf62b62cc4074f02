// Store: keeps the coordinator's state when the coordinator is lost. A small set of keys with
// revisions.
//
// Two implementations: EmbeddedStore (the memory of one process) and EtcdStore (an etcd cluster).
// If a store cannot be reached for a while, calls do not fail: they wait until they are answered or
// cancelled. A malformed answer is Corrupt. A cancelled commit may have been applied, or may still
// be.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "runtime/task.h"

namespace shoal {

// Counts every change of the store, from 1. 0 as the revision of a key: the key does not exist.
using Revision = std::int64_t;
using LeaseId = std::int64_t;  // 0: none
inline constexpr LeaseId kNoLease = 0;

struct Entry {
  std::string key;
  std::string value;
  Revision modified = 0;  // the revision of its last change
};

struct Condition {
  std::string key;
  Revision modified = 0;
};

struct Change {
  std::string key;
  std::optional<std::string> value;  // empty: the key is removed
  LeaseId lease = kNoLease;          // the key is removed with it
};

// The named leases are conditions too: if one has ended, nothing changes. REQUIRES: no key is empty
// or changed twice, no removed key has a lease. A value should tell who wrote it and why: if an
// answer is lost, an implementation finds its own change by its value.
struct Transaction {
  std::vector<Condition> when;  // all must hold, or nothing changes
  std::vector<Change> then;
};

// For implementations: aborts if the above is violated.
void check_valid(const Transaction& transaction);

struct Committed {
  bool succeeded = false;
  // The revision of the store afterwards. After a success: also that of every written key.
  Revision revision = 0;
};

// Follows the changes of the keys with a prefix, in the order of their revisions, none twice. The
// first next() starts it: existing entries come first, by key. If changes were lost meanwhile (etcd
// compacts), intermediate ones are omitted: then each key's last change comes, and missing keys are
// removed.
class Watch {
 public:
  virtual ~Watch() = default;
  // One call at a time, and not in a race: a value that the loser received in the same instant is
  // lost. Give it a task of its own. Cancelling that task loses nothing.
  virtual Task<Change> next() = 0;
};

// Thread safety: none; it belongs to the thread of its loop.
class Store {
 public:
  virtual ~Store() = default;  // REQUIRES: its watches are destroyed, and no call waits
  virtual Task<std::optional<Entry>> get(std::string key) = 0;
  virtual Task<Committed> commit(Transaction transaction) = 0;
  virtual std::unique_ptr<Watch> watch(std::string prefix) = 0;  // "": everything
  // Keys attached to a lease are removed if it is not renewed for `ttl`; the store may grant more.
  virtual Task<LeaseId> grant(Duration ttl) = 0;
  virtual Task<bool> renew(LeaseId lease) = 0;   // false: it has ended
  virtual Task<void> revoke(LeaseId lease) = 0;  // fine if it has ended already
};

}  // namespace shoal
