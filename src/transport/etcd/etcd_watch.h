// Follows the keys of a prefix in an etcd, across restarts of its servers and compactions.
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
// 1. Every change of a revision below next_ is in what was given out or in news_, or was followed
//    by another of the same key that is.
// 2. known_ is what whoever follows knows once he has taken all of news_.
// A stream, and what it has brought in, stays between calls: a cancelled next() loses nothing.
class EtcdWatch final : public Watch {
 public:
  // Keys are given without `job`.
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
  Revision next_ = 0;  // 0: what is there must be read
  std::map<std::string, Revision> known_;
  std::deque<Change> news_;
  std::unique_ptr<HttpTransfer> stream_;
  std::string stream_at_;     // its endpoint
  bool stream_over_ = false;  // etcd said that it brings no more
  BackOff back_off_;
};

}  // namespace shoal
