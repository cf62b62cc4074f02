// StragglerRound: a synchronous step that does not wait for all. Workers compute until rank 0
// decides which gradients count (stragglers.h), and then exchange only these.
//
//   worker:  compute own micro-shard; tell rank 0; stop when the decision comes
//   rank 0: collect reports until it can decide; tell all
//   then:    exchange the gradients that count; the others take part without their own
//
// Cost a step: one message from each worker to rank 0 and back, in addition to the exchange.
// Failure: as any step. Reports of an aborted step are dropped with its view.
#pragma once

#include <cstdint>
#include <vector>

#include "collective/dissemination.h"
#include "collective/group.h"
#include "learner/learner.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "replica/shard_sums.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "sync/dealing.h"
#include "sync/model_buffers.h"
#include "sync/sync_context.h"

namespace shoal {

class StragglerRound {
 public:
  StragglerRound(Node& node, Learner& learner, Replica& replica, const SyncContext& context,
                 Dealing& dealing, ModelBuffers& buffers)
      : node_(node),
        learner_(learner),
        replica_(replica),
        context_(context),
        dealing_(dealing),
        buffers_(buffers),
        sums_(node, replica.N, learner.substance()) {}

  // On return the dealing knows which gradients count, and g is this worker's gradient.
  Task<void> compute(const Group& group, StepReport& report);

 private:
  Task<void> compute_pieces(const Group& group, Score& score);
  Task<void> decide(const Group& group);
  Task<void> hear_decision(const Group& group);
  Task<void> until_decided();

  Node& node_;
  Learner& learner_;
  Replica& replica_;
  const SyncContext& context_;
  Dealing& dealing_;
  ModelBuffers& buffers_;
  ShardSums sums_;
  Gathering gathering_;
  // In this step. Messages are read and written here: a cancelled one may be busy until its view is
  // retired.
  std::uint64_t samples_done_ = 0;  // of the own micro-shard, whose gradient is in g
  std::uint64_t own_done_ = 0, heard_done_ = 0;
  std::vector<std::uint64_t> decision_, told_;  // the winner of each micro-shard
  bool decided_ = false;
  Signal decided_here_;
};

}  // namespace shoal
