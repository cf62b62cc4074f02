// LocalGradient: the gradient of this worker's micro-shard, summed over its samples, in one pass or
// several (`--accumulate`). Buckets become ready during the backward pass, last layer first.
//
// With `--batch-norm sync` the passes of all members sum a few numbers in their middle
// (in_pass_all_reduce.h).
#pragma once

#include <optional>

#include "collective/dissemination.h"
#include "collective/group.h"
#include "learner/learner.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "runtime/task_group.h"
#include "sync/dealing.h"
#include "sync/encoded_sums.h"
#include "sync/in_pass_all_reduce.h"
#include "sync/model_buffers.h"
#include "sync/sync_context.h"

namespace shoal {

class LocalGradient {
 public:
  LocalGradient(Node& node, Learner& learner, Replica& replica, const SyncContext& context,
                const Dealing& dealing, ModelBuffers& buffers, EncodedSums& encoded)
      : node_(node),
        learner_(learner),
        replica_(replica),
        context_(context),
        dealing_(dealing),
        buffers_(buffers),
        encoded_(encoded) {}

  void begin_step(const Group& group);
  // Spawns the answers to questions of other members' passes.
  void serve(TaskGroup& tasks);
  // `taken`: whether the buckets are taken one by one.
  Task<void> compute(const Group& group, Channel<Ready>& ready, Taken taken, StepReport& report);

 private:
  Node& node_;
  Learner& learner_;
  Replica& replica_;
  const SyncContext& context_;
  const Dealing& dealing_;
  ModelBuffers& buffers_;
  EncodedSums& encoded_;
  Gathering gathering_;
  std::optional<InPassAllReduce> in_pass_;  // of the step
};

}  // namespace shoal
