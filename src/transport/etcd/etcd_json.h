// etcd's JSON, both ways. The one place that knows its oddities, and the JSON library, is
// etcd_json.cc: 64-bit numbers are strings, keys and values are base64, fields that are zero or
// false or empty are absent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "membership/store.h"

namespace shoal {

// What a server said. Whatever cannot be read below is Corrupt, and names the URL.
struct EtcdText {
  std::string url;
  std::string text;
};

// etcd understood, and does not do it.
struct EtcdRefusal {
  int code = 0;  // of gRPC
  std::string message;
};
namespace grpc {
inline constexpr int kCancelled = 1;
inline constexpr int kDeadlineExceeded = 4;
inline constexpr int kNotFound = 5;
inline constexpr int kResourceExhausted = 8;
inline constexpr int kUnavailable = 14;
}  // namespace grpc

struct EtcdItem {
  Entry entry;
  LeaseId lease = kNoLease;
};
struct RangeReply {
  Revision revision = 0;
  std::vector<EtcdItem> items;  // by key
};
struct TxnReply {
  bool succeeded = false;
  Revision revision = 0;
  std::vector<EtcdItem> items;  // of all the keys that the taken branch reads
};
struct EtcdEvent {
  Change change;
  Revision modified = 0;
};
struct WatchReply {
  bool created = false;
  bool cancelled = false;
  Revision compacted = 0;  // the first revision that is left, where that is why it was cancelled
  std::vector<EtcdEvent> events;
  std::string error;  // the stream ends with it
};

std::string get_request(const std::string& key);
std::string prefix_request(const std::string& prefix);
std::string count_request(const std::string& prefix);  // no entries: only the revision
std::string watch_request(const std::string& prefix, Revision from);
std::string grant_request(Duration ttl);
std::string lease_request(LeaseId lease);

std::string txn_request(const Transaction& transaction);
// The same, for when it may have been applied already: tells that apart from other outcomes, in one
// step on the server. Read the reply by repeated().
std::string repeat_request(const Transaction& transaction);
Committed repeated(const Transaction& transaction, const TxnReply& reply);

RangeReply parse_range(const EtcdText& text);
TxnReply parse_txn(const EtcdText& text);
WatchReply parse_watch(const EtcdText& line);
Revision parse_header(const EtcdText& text);  // what every answer has
LeaseId parse_grant(const EtcdText& text);
bool parse_keepalive(const EtcdText& text);                         // false: the lease is gone
std::optional<EtcdRefusal> parse_refusal(const std::string& text);  // nothing: it is none

// The Corrupt for an answer that is no etcd's.
[[noreturn]] void throw_no_etcd(const EtcdText& text, const std::string& what);
// At most 100 characters of it, each printable.
std::string excerpt(const std::string& text);

}  // namespace shoal
