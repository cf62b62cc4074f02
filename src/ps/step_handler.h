// A worker's step at the head of a shard: the gradient comes in, a share of samples goes out, and
// the parameters when the gate lets the worker read.
#pragma once

#include <cstdint>
#include <optional>

#include "ps/answer_sender.h"
#include "ps/chain_replication.h"
#include "ps/consistency.h"
#include "ps/delay_compensation.h"
#include "ps/hosted_shard.h"
#include "ps/norm_handler.h"
#include "ps/requests.h"
#include "ps/server_context.h"
#include "ps/share_handler.h"
#include "ps/worker_handler.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class StepHandler {
 public:
  StepHandler(ServerContext& server, ChainReplication& chain, AnswerSender& answers,
              WorkerHandler& workers, ShareHandler& shares, NormHandler& norms)
      : server_(server),
        chain_(chain),
        answers_(answers),
        workers_(workers),
        shares_(shares),
        norms_(norms),
        compensation_(server) {}

  Task<void> answer(NodeId from, TrainRequest request, std::optional<Gradient> gradient);
  Task<void> answer(NodeId from, FollowRequest request);
  void forget_lost(const HostedShard& shard) { compensation_.forget_lost(shard); }

 private:
  // A push, as it goes through the shard.
  struct Pushing {
    Holder worker;
    const TrainRequest& request;
    double change = 0;        // of a parameter, at most
    std::uint64_t clock = 0;  // of the worker, afterwards
    std::uint64_t staleness = 0;
  };
  Task<void> push(HostedShard& shard, Pushing& pushing, std::optional<Gradient> gradient);
  Task<double> change_by(const HostedShard& shard, const Push& push,
                         const std::optional<Gradient>& gradient);
  // Norms that are being measured may wait for a push of this worker to another shard, before which
  // it reads here: so only pushes wait for them.
  static Task<HostedShard::Turn> turn_of(HostedShard& shard, const TrainRequest& request) {
    return request.push.samples > 0 ? shard.turn_of_push(request.clock) : shard.turn();
  }
  Task<Admission> admitted(HostedShard& shard, const Pushing& pushing);
  struct Made {
    PushRecord record;
    bool completes = false;  // the next update
  };
  Made record_of(const HostedShard& shard, const Pushing& pushing, std::uint64_t after) const;
  Task<Gradient> copy_of(Gradient gradient);
  double weight_of(std::uint64_t staleness) const;
  std::uint64_t workers() const;  // of the view; a group is one

  ServerContext& server_;
  ChainReplication& chain_;
  AnswerSender& answers_;
  WorkerHandler& workers_;
  ShareHandler& shares_;
  NormHandler& norms_;
  DelayCompensation compensation_;
};

}  // namespace shoal
