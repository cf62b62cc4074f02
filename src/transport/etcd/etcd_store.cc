#include "transport/etcd/etcd_store.h"

#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "transport/etcd/etcd_cluster.h"
#include "transport/etcd/etcd_json.h"
#include "transport/etcd/etcd_watch.h"

namespace shoal {
namespace {

std::string checked_prefix(const std::string& prefix) {
  if (prefix.size() > 1 && prefix.ends_with('/')) return prefix;
  throw ConfigError(fmt::format(
      "the prefix of a job's keys in etcd is '{}'; it must be like shoal/JOB/, with a slash at the "
      "end, so that the keys of different jobs differ",
      prefix));
}

}  // namespace

EtcdStore::EtcdStore(LiveLoop& loop, const EtcdOptions& options)
    : prefix_(checked_prefix(options.prefix)),
      cluster_(
          std::make_unique<EtcdCluster>(loop, parse_endpoints(options.endpoints), options.http)) {}

EtcdStore::~EtcdStore() = default;

Task<std::optional<Entry>> EtcdStore::get(std::string key) {
  SHOAL_CHECK(!key.empty(), "a key is empty");
  const EtcdText text = co_await cluster_->ask("/v3/kv/range", get_request(prefix_ + key));
  RangeReply reply = parse_range(text);
  std::optional<Entry> entry;
  if (!reply.items.empty()) {
    entry = std::move(reply.items.front().entry);
    entry->key = std::move(key);
  }
  co_return entry;
}

Task<Committed> EtcdStore::commit(Transaction transaction) {
  check_valid(transaction);
  for (Condition& condition : transaction.when) condition.key.insert(0, prefix_);
  for (Change& change : transaction.then) change.key.insert(0, prefix_);
  EtcdCall call(*cluster_, "/v3/kv/txn", HttpClient::Connection::Fresh);
  for (;;) {
    const bool again = call.maybe_done() && !transaction.then.empty();
    std::string body = again ? repeat_request(transaction) : txn_request(transaction);
    const std::optional<EtcdReply> reply = co_await call.attempt(std::move(body));
    if (!reply) continue;
    if (!reply->refusal) {
      const TxnReply txn = parse_txn(reply->text);
      Committed committed{.succeeded = txn.succeeded, .revision = txn.revision};
      if (again) committed = repeated(transaction, txn);
      co_return committed;
    }
    if (reply->refusal->code != grpc::kNotFound) throw_refused(*reply);
    break;
  }
  // A lease has ended; the refusal does not contain the revision.
  const EtcdText text = co_await cluster_->ask("/v3/kv/range", count_request(prefix_));
  Committed failed;
  failed.revision = parse_header(text);
  co_return failed;
}

std::unique_ptr<Watch> EtcdStore::watch(std::string prefix) {
  return std::make_unique<EtcdWatch>(*cluster_, prefix_, std::move(prefix));
}

Task<LeaseId> EtcdStore::grant(Duration ttl) {
  SHOAL_CHECK(ttl > Duration::zero(), "a lease of {} s", seconds(ttl));
  // If the answer is lost, the granted lease has no keys, and expires.
  const EtcdText text = co_await cluster_->ask("/v3/lease/grant", grant_request(ttl));
  co_return parse_grant(text);
}

Task<bool> EtcdStore::renew(LeaseId lease) {
  const EtcdText text = co_await cluster_->ask("/v3/lease/keepalive", lease_request(lease));
  co_return parse_keepalive(text);
}

Task<void> EtcdStore::revoke(LeaseId lease) {
  const EtcdReply reply =
      co_await cluster_->ask_or_refuse("/v3/lease/revoke", lease_request(lease));
  if (!reply.refusal) {
    parse_header(reply.text);
  } else if (reply.refusal->code != grpc::kNotFound) {
    throw_refused(reply);
  }
}

}  // namespace shoal
