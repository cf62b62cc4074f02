// LogicalShards: a gradient as the sum over a fixed number of logical shards, added in a fixed tree
// (collective/fixed_tree.h): the bits do not depend on the number of workers.
//
//   compute         every worker sums the subtrees of its own shards
//   reduce_scatter  the owner of a part sums the subtrees of all workers
#pragma once

#include <cstdint>
#include <vector>

#include "collective/fixed_tree.h"
#include "collective/group.h"
#include "learner/learner.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "replica/shard_sums.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "sync/dealing.h"
#include "sync/model_buffers.h"
#include "sync/sync_context.h"

namespace shoal {

class LogicalShards {
 public:
  LogicalShards(Node& node, Learner& learner, Replica& replica, const SyncContext& context,
                const Dealing& dealing, ModelBuffers& buffers)
      : node_(node),
        learner_(learner),
        replica_(replica),
        context_(context),
        dealing_(dealing),
        buffers_(buffers),
        sums_(node, replica.N, learner.substance()) {}

  Task<void> compute(const Group& group, StepReport& report);
  // Sums a bucket. If the rule needs norms, every member gets the whole sum: a sum of the norms of
  // parts would depend on the number of parts.
  Task<void> reduce_scatter(const Group& group, const Ready& bucket, const Cuts& cuts);

 private:
  Task<void> compute_shard(std::uint32_t shard, GradientTarget target, Score& score);

  Node& node_;
  Learner& learner_;
  Replica& replica_;
  const SyncContext& context_;
  const Dealing& dealing_;
  ModelBuffers& buffers_;
  // In this step.
  std::vector<HeldSum> held_;    // subtrees of all workers,
  std::vector<Range> own_sums_;  // and the sums of the own ones
  ShardSums sums_;
};

}  // namespace shoal
