// Follows the keys of a prefix in etcd, across restarts of its servers and compactions.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "membership/store.h"
#include "transport/etcd/etcd_cluster.h"

namespace shoal {

// Thread safety: none; it belongs to the loop's thread. Invariants:
// 1. Every change of a revision below next_ was returned or is in news_, or was superseded by a
//    later such change of the same key.
// 2. known_ is the state that a reader has after taking all of news_. A stream, and the data that
//    it has brought, stays between calls: a cancelled next() loses nothing.
class EtcdWatch final : public Watch {
 public:
  // Keys are reported without `job`.
  EtcdWatch(EtcdCluster& cluster, std::string job, const std::string& prefix)
      : cluster_(&cluster), job_(std::move(job)), prefix_(job_ + prefix) {}

  Task<Change> next() override;

 private:
  Task<void> read_all();
  void open();
  void read_stream();
  void take(WatchReply reply);
  void take(EtcdEvent event);
  Task<void> leave_stream();
  Task<void> wait(std::uint64_t seen);

  EtcdCluster* cluster_;
  const std::string job_;
  const std::string prefix_;
  Revision next_ = 0;  // 0: the present entries must be read
  std::map<std::string, Revision> known_;
  std::deque<Change> news_;
  std::unique_ptr<HttpTransfer> stream_;
  std::string stream_at_;     // its endpoint
  bool stream_over_ = false;  // etcd has ended it
  BackOff back_off_;
};

}  // namespace shoal
