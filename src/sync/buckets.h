// Buckets: the ranges of a gradient that are exchanged one by one, during the backward pass
// (wait-free backpropagation). Buckets of the learner are joined to the best size (bucket_tuner.h),
// if that changes no bits.
#pragma once

#include <deque>

#include "collective/group.h"
#include "learner/learner.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "runtime/task_group.h"
#include "sync/bucket_tuner.h"
#include "sync/factor_sums.h"
#include "sync/reduction.h"
#include "sync/state_update.h"
#include "sync/sync_context.h"

namespace shoal {

class Buckets {
 public:
  Buckets(Node& node, Replica& replica, const SyncContext& context, const FactorSums& factors,
          const StateUpdate& update)
      : node_(node), replica_(replica), context_(context), factors_(factors), update_(update) {}

  // `tunes`: they may be joined.
  void begin_view(bool tunes);
  void begin_step() { all_.clear(); }
  // A step took so long at the slowest member.
  void took(Duration longest) { tuner_.took(longest); }

  // The buckets of the step so far.
  std::deque<Ready>& all() { return all_; }
  // The whole gradient is ready: cuts it into large buckets.
  void cut_whole();
  // Reduces each bucket as soon as it is ready; or only joins them (`--order fifo`).
  Task<void> reduce_as_ready(const Group& group, Reduction& reduction, Channel<Ready>& ready,
                             TaskGroup& tasks, StepReport& report);
  void reduce_all(const Group& group, Reduction& reduction, TaskGroup& tasks, StepReport& report);

 private:
  Task<void> reduce(const Group& group, Reduction& reduction, Ready bucket, StepReport& report);

  Node& node_;
  Replica& replica_;
  const SyncContext& context_;
  const FactorSums& factors_;
  const StateUpdate& update_;
  BucketTuner tuner_;
  std::deque<Ready> all_;
};

}  // namespace shoal
