// The end of an epoch at the first shard: gives out its tasks, and records what was done. And
// snapshots of any shard, to evaluate and to save.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ps/answer_sender.h"
#include "ps/chain_replication.h"
#include "ps/hosted_shard.h"
#include "ps/requests.h"
#include "ps/server_context.h"
#include "ps/shard_map.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class EpochEndHandler {
 public:
  EpochEndHandler(ServerContext& server, ChainReplication& chain, AnswerSender& answers)
      : server_(server), chain_(chain), answers_(answers) {}

  Task<void> answer(NodeId from, EndOfEpochRequest request, std::optional<Gradient> buffers);
  Task<void> answer(NodeId from, SnapshotRequest request);

 private:
  void record_done(HostedShard& shard, const EndOfEpochRequest& request,
                   std::optional<Gradient> buffers);
  // The block of a task that no worker has; none: all have one.
  std::optional<std::uint32_t> free_block(const HostedShard& shard, EndOfEpochTask task);

  ServerContext& server_;
  ChainReplication& chain_;
  AnswerSender& answers_;
  std::map<std::uint32_t, Holder> workers_;  // by block
};

}  // namespace shoal
