// Synchronous data-parallel SGD. Every worker computes the gradient of its share of the global
// batch, all of them are summed, and every replica comes to the same next state.
// Baidu 2017; Sergeev & Del Balso 2018, arXiv:1802.05799; Li et al. 2020 (DDP), arXiv:2006.15704;
// with the update sharded over the workers: Dai et al. 2019 (BigDL), arXiv:1804.05839.
//
//   for t = 0, 1, ...:
//     deal the next B_global samples to the workers
//     g <- sum over own samples of the gradient at w     (backward; bucket by bucket, last first)
//                        (--order priority: t+1 begins while t is exchanged; priority_reduction.h)
//     by recipe.updater, each bucket as soon as it is ready:
//       everyone   g <- all-reduce(g)
//       owners     g[own part] <- reduce-scatter(g)      (on one host: with the update)
//       root       g <- reduce(g) at rank 0
//     tell all that t can be finished, and wait until all have told
//       everyone   w <- update(w, g / B_global, eta_t)
//       owners     w[own part] <- update;  w[other parts] <- those of their owners
//       root       w <- update at rank 0;  w <- broadcast(w)
//     settle the samples; every c steps rank 0 saves the state
//     at an epoch's end: evaluate w, each worker on its part of the samples held out
//
// Each updater is a Reduction (reduction.h).
//
// Symbols: P workers, N parameters, B_global samples a step, t step, w parameters, g gradient.
// Cost a step and worker: everyone: that of the all-reduce, update of N; owners: 2(P-1) messages of
//   N/P, and those of the optimizer's slots, update of N/P; root: two trees, update of N at rank 0.
// Deviations: the sum is averaged over samples, not over workers, so that uneven shares count
//   right. Owners send the optimizer's slots too; on one host others can read them even when their
//   owner is lost (sharded_state.h). So any remaining worker can continue.
// Failure: a worker may be lost or join at any moment. All members drop or finish the current step
//   alike (recovery.h), and lost shares are dealt again: every step is applied exactly once and
//   every sample of an epoch counts exactly once. A newcomer gets the state while the others make
//   their next step. When all are lost, training continues from the last saved state.
#pragma once

#include "learner/learner.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "replica/training_task.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "sync/in_step.h"
#include "sync/sync_context.h"

namespace shoal {

// The node program of a worker. All arguments but the tuning outlive it, task and recipe too.
// `replica` is the worker's, made for this life of the node, with slots(task.rule) and a ledger of
// the task's samples; it holds the result at the end. Reads neither epochs nor budget. Ends before
// the last step if the journal asks for it. Throws ConfigError for an impossible task or recipe.
Task<void> sync_worker(Node& node, Learner& learner, CheckpointStore& checkpoints, Replica& replica,
                       const TrainingTask& task, const InStep& recipe, Journal* journal,
                       SyncTuning tuning);
inline Task<void> sync_worker(Node& node, Learner& learner, CheckpointStore& checkpoints,
                              Replica& replica, const TrainingTask& task, const InStep& recipe,
                              Journal* journal = nullptr) {
  return sync_worker(node, learner, checkpoints, replica, task, recipe, journal, SyncTuning());
}

}  // namespace shoal
