// Store: where the coordinator keeps what must outlive it. A small set of keys with revisions.
//
// Two implementations: EmbeddedStore (the memory of one process) and EtcdStore (an etcd cluster).
// A store that cannot be reached for a while delays its answers, it does not fail: every call waits
// until it is answered or cancelled. What an etcd answers that is no answer is Corrupt. A commit
// that was cancelled may have been applied, or be applied yet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "runtime/task.h"

namespace shoal {

// Counts every change of the store, from 1. 0 as the revision of a key: there is no such key.
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
  std::optional<std::string> value;  // nothing: the key is removed
  LeaseId lease = kNoLease;          // the key goes with it
};

// The leases it names are conditions too: when one is gone, nothing is changed.
// REQUIRES: no key is empty or changed twice, no removed key has a lease. Values should tell who
// wrote them and why: where an answer is lost on the way, an implementation finds its own change by
// its value.
struct Transaction {
  std::vector<Condition> when;  // all hold, or nothing is changed
  std::vector<Change> then;
};

// For implementations: aborts when one of the above is violated.
void check_valid(const Transaction& transaction);

struct Committed {
  bool succeeded = false;
  // Of the store, after it. Where it succeeded: `modified` of every key that it wrote.
  Revision revision = 0;
};

// Follows the changes of the keys that begin with a prefix, in the order of their revisions, none
// twice. It begins with the first next(): entries that are there then come first, by key. Where
// changes were lost meanwhile (etcd compacts), what lies between is left out: then each key's last
// change comes, and keys that are gone are removed.
class Watch {
 public:
  virtual ~Watch() = default;
  // One at a time, and not as the loser of a race: what a loser received in the same instant is
  // lost. Give it a task of its own. Cancelling that loses nothing.
  virtual Task<Change> next() = 0;
};

// Thread safety: none; it belongs to the thread of its loop.
class Store {
 public:
  virtual ~Store() = default;  // REQUIRES: its watches have gone, and no call waits
  virtual Task<std::optional<Entry>> get(std::string key) = 0;
  virtual Task<Committed> commit(Transaction transaction) = 0;
  virtual std::unique_ptr<Watch> watch(std::string prefix) = 0;  // "": everything
  // Keys attached to a lease go when it is not renewed for `ttl`; the store may grant more.
  virtual Task<LeaseId> grant(Duration ttl) = 0;
  virtual Task<bool> renew(LeaseId lease) = 0;   // false: it is gone
  virtual Task<void> revoke(LeaseId lease) = 0;  // fine when it is gone already
};

}  // namespace shoal
