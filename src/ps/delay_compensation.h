// Compensation of late gradients at the head of a shard: g + lambda g g (w now - w then), by
// element. Zheng et al., "Asynchronous Stochastic Gradient Descent with Delay Compensation", ICML
// 2017 (DC-ASGD).
//
// Cost: a pass over the gradient; memory of N for each worker whose version differs.
// Failure: a new head begins without the versions that workers have read: it does not correct g.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "ps/hosted_shard.h"
#include "ps/server_context.h"
#include "ps/shard_state.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class DelayCompensation {
 public:
  explicit DelayCompensation(ServerContext& server)
      : server_(server), shards_(server.shards.size()) {}

  bool on() const { return compensates(server_.options.ps.compensation); }
  // The worker has read this version of the shard.
  void note_read(const HostedShard& shard, NodeId worker, std::shared_ptr<Version> version);
  Task<Gradient> corrected(HostedShard& shard, NodeId worker, std::uint64_t samples,
                           Gradient gradient);
  void forget_lost(const HostedShard& shard);

 private:
  struct Seen {
    std::map<NodeId, std::shared_ptr<Version>> read{};
    std::vector<float> mean_square{};  // of gradients
  };
  ServerContext& server_;
  std::vector<Seen> shards_;
};

}  // namespace shoal
