// Rounds for recipes with logical shards, in synchronous training only. The samples of a logical
// shard of a step do not depend on the workers, and neither does the order of the sum: so the
// parameters have the same bits for any number of workers, and after any losses.
//
//   scheduler, when all of the last round is in all parameters, as the first worker reports that
//     has read them: deal the next B samples, neighbouring shards to each worker that is in
//   head, on the sum of a subtree of shards:  keep it, once; when all shards are covered: update,
//     and answer
//   a worker is lost:  its piece is sent to all other workers of the round, which compute it too
//   ... and no other is left:  a worker that enters takes the piece
//   head of a shard that was loaded, as a worker says that rounds are over:  go on after them. A
//     worker says so as it enters and leaves; and in a round whose update the shard had made before
//     it was loaded, or after which another was dealt
//
// Cost: one request more a step than without rounds, for the next piece after all was read; and as
//   many pushes as a worker's shards have largest subtrees. After a loss all remaining workers
//   compute the piece, so that another loss changes nothing.
// Failure: a step has the same bits after the loss of any workers, as long as one is left, or no
//   server has made its update by then, or all have. A step that some servers have made and others
//   have not, with none of its workers left, ends with what the servers have then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ps/answer_sender.h"
#include "ps/chain_replication.h"
#include "ps/dealt_round.h"
#include "ps/hosted_shard.h"
#include "ps/records.h"
#include "ps/requests.h"
#include "ps/server_context.h"
#include "ps/shard_map.h"
#include "ps/share_handler.h"
#include "ps/worker_handler.h"
#include "runtime/task.h"

namespace shoal {

// Whether a worker that has made `clock` steps may read: after the push of a step, and before the
// next one.
bool may_read_round(const HostedShard& shard, std::uint64_t clock);
// A piece that no worker will push that has begun the round: all its workers are lost.
const RoundPiece* left_behind(const HostedShard& shard);

// Thread safety: none; it belongs to the thread of its node.
class RoundHandler {
 public:
  RoundHandler(ServerContext& server, ChainReplication& chain, AnswerSender& answers,
               WorkerHandler& workers)
      : server_(server), chain_(chain), answers_(answers), workers_(workers) {}

  Task<void> answer(NodeId from, PieceRequest request);
  Task<void> answer(NodeId from, PushSumRequest request, std::optional<Gradient> sum);
  Task<void> answer(NodeId from, LostPieceRequest request);
  // Other workers compute what lost ones have not pushed.
  Task<void> bury_lost_pieces(HostedShard& shard);

 private:
  Task<void> enter(HostedShard& shard, Holder worker, std::uint64_t clock);
  Task<bool> give_piece(HostedShard& shard, Holder worker, const PieceRequest& request,
                        PieceAnswer& answer);
  RoundShards shards_of(const Round& round, const RoundPiece& piece) const {
    return {round, piece.from, piece.to};
  }
  void deal(HostedShard& shard, const WantedShare& wanted);
  void push_sum(HostedShard& shard, Holder worker, const PushSumRequest& request,
                std::optional<Gradient> sum, PushSumAnswer& answer);
  void recall(HostedShard& shard, Holder worker, const PushSumRequest& request);
  void commit_pieces(HostedShard& shard, const AnyRecord& record,
                     std::span<const RoundPiece> pieces);

  ServerContext& server_;
  ChainReplication& chain_;
  AnswerSender& answers_;
  WorkerHandler& workers_;
  ShareWaiters waiters_;
};

}  // namespace shoal
