// Workers come and go: a worker enters the first shard when there are samples for it, then the
// others, and leaves all when there are none.
#pragma once

#include <cstdint>

#include "ps/answer_sender.h"
#include "ps/chain_replication.h"
#include "ps/hosted_shard.h"
#include "ps/norm_handler.h"
#include "ps/requests.h"
#include "ps/server_context.h"
#include "ps/shard_map.h"
#include "runtime/task.h"
#include "runtime/view.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class WorkerHandler {
 public:
  WorkerHandler(ServerContext& server, ChainReplication& chain, AnswerSender& answers,
                NormHandler& norms)
      : server_(server), chain_(chain), answers_(answers), norms_(norms) {}

  Task<void> answer(NodeId from, EnterRequest request);
  Task<void> answer(NodeId from, RegisterRequest request);
  Task<void> answer(NodeId from, LeaveRequest request);
  Task<void> answer(NodeId from, LostPushQuery request);

  // REQUIRES of both: the caller has the turn, and this node is the head.
  void enter_if_out(HostedShard& shard, Holder worker, std::uint64_t clock);
  void stop_if_asked(HostedShard& shard, Ending how);
  // Whether shares of an earlier life of the worker are open: these are looked into first.
  static bool left_open(const HostedShard& shard, Holder worker);

 private:
  Task<bool> enter_for_samples(HostedShard& shard, const EnterRequest& request, Holder worker,
                               EnterAnswer& answer);
  bool has_something_for(const HostedShard& shard, const EnterRequest& request,
                         Holder worker) const;
  bool has_samples(const HostedShard& shard) const;
  void enter_first(HostedShard& shard, Holder worker);
  void enter(HostedShard& shard, Holder worker, std::uint64_t clock);
  bool goes_first(NodeId worker) const;

  ServerContext& server_;
  ChainReplication& chain_;
  AnswerSender& answers_;
  NormHandler& norms_;
};

}  // namespace shoal
