// Converts to and from etcd's JSON. Only etcd_json.cc knows its oddities, and the JSON library:
// 64-bit numbers are strings, keys and values are base64, and fields that are zero, false or empty
// are absent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "membership/store.h"

namespace shoal {

// A server's response. If it cannot be parsed below, Corrupt names the URL.
struct EtcdText {
  std::string url;
  std::string text;
};

// etcd understood the call, and refuses it.
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
  std::vector<EtcdItem> items;  // of all keys that the taken branch reads
};
struct EtcdEvent {
  Change change;
  Revision modified = 0;
};
struct WatchReply {
  bool created = false;
  bool cancelled = false;
  Revision compacted = 0;  // the first remaining revision, if compaction caused the cancellation
  std::vector<EtcdEvent> events;
  std::string error;  // ends the stream
};

std::string get_request(const std::string& key);
std::string prefix_request(const std::string& prefix);
std::string count_request(const std::string& prefix);  // without entries: only the revision
std::string watch_request(const std::string& prefix, Revision from);
std::string grant_request(Duration ttl);
std::string lease_request(LeaseId lease);

std::string txn_request(const Transaction& transaction);
// The same, when it may have been applied already: the server tells that case from others in one
// step. Parse the reply by repeated().
std::string repeat_request(const Transaction& transaction);
Committed repeated(const Transaction& transaction, const TxnReply& reply);

RangeReply parse_range(const EtcdText& text);
TxnReply parse_txn(const EtcdText& text);
WatchReply parse_watch(const EtcdText& line);
Revision parse_header(const EtcdText& text);  // present in every answer
LeaseId parse_grant(const EtcdText& text);
bool parse_keepalive(const EtcdText& text);                         // false: the lease has ended
std::optional<EtcdRefusal> parse_refusal(const std::string& text);  // empty: it is not a refusal

// Throws the Corrupt for an answer that is not from etcd.
[[noreturn]] void throw_no_etcd(const EtcdText& text, const std::string& what);
// At most 100 characters of it, unprintable ones replaced.
std::string excerpt(const std::string& text);

}  // namespace shoal
