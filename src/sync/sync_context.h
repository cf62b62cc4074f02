// Shared by the parts of a worker: the task, the recipe, and what follows from both.
#pragma once

#include "base/types.h"
#include "optim/rule.h"
#include "replica/training_task.h"
#include "sync/in_step.h"

namespace shoal {

// Sizes that change no bits of a result.
struct SyncTuning {
  // Buckets of the gradient are joined to the size that turns out best (bucket_tuner.h): above 0,
  // the size of the smallest.
  Bytes tune_buckets{0};
  // From this size on, parameters stay with the owners of their parts, on one host
  // (sharded_state.h). With fewer the additional message would cost more than it saves.
  Bytes hold_parameters{4 << 20};
  Bytes chunk{512 << 10};  // at most, with SendOrder::Priority
};

// Task and recipe outlive it.
struct SyncContext {
  SyncContext(const TrainingTask& task, const InStep& recipe, const SyncTuning& tuning);

  const TrainingTask& task;
  const InStep& recipe;
  const SyncTuning tuning;
  // Momentum accumulates clipped gradients, so workers clip before they send (dgc): then the bound
  // of the task's rule is each worker's own, and that of the update has none.
  const double local_clip;  // 0: none
  const Rule rule;          // of the update
};

}  // namespace shoal
