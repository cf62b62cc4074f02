// Updates that the head completes without a push: when a worker that was missing has left, and by
// rules that need norms of tensors or of the whole gradient, while a shard has only a part
// (optim/update.h; LARS, LAMB, clipping). Such rules require synchronous training: there all shards
// make the same updates, and a version has the same pushes at each.
//head, when an update is due:  sum the waiting pushes
//     in each round:              measure; ask the heads of all other shards for their sums
//     then:                       Complete, with the sums: every copy applies the same
//
// Cost: an answer of 1 + 2L numbers, of L tensors, from each of S - 1 servers a round.
// Failure: the next head of a shard measures and asks again. A head that has made the update
//   already answers with the sums of all; a head that was loaded later and has no sums is omitted.
//   A push that arrives after an update of its step without it is scaled as that update was.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "optim/update.h"
#include "ps/answer_sender.h"
#include "ps/chain_replication.h"
#include "ps/client.h"
#include "ps/hosted_shard.h"
#include "ps/requests.h"
#include "ps/server_context.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class NormHandler {
 public:
  NormHandler(ServerContext& server, ChainReplication& chain, AnswerSender& answers, Client& client)
      : server_(server),
        chain_(chain),
        answers_(answers),
        client_(client),
        measured_(server.shards.size()) {}

  Task<void> answer(NodeId from, SumsRequest request);
  // Measures for the next update, and completes it. REQUIRES: the caller has the turn, and this
  // node is the head.
  void begin_measuring(HostedShard& shard);
  // Without the workers that are lost or away, the pushes that wait may be an update. REQUIRES: as
  // begin_measuring().
  void complete_if_due(HostedShard& shard);
  Task<void> complete_without_lost(HostedShard& shard);

 private:
  // The sums that a head has measured, by version and round.
  using Measured = std::map<std::pair<std::uint64_t, std::uint64_t>, Sums>;

  bool is_due(const HostedShard& shard) const;
  Task<void> complete_with_norms(HostedShard& shard);
  Task<bool> add_all(HostedShard& shard, std::uint64_t version, unsigned round, bool alone,
                     Sums& total);
  Task<void> ask_for_sums(std::uint32_t shard, std::uint64_t version, unsigned round,
                          std::vector<std::uint64_t>& words);

  ServerContext& server_;
  ChainReplication& chain_;
  AnswerSender& answers_;
  Client& client_;
  std::vector<Measured> measured_;  // by shard
};

}  // namespace shoal
