// Decentral optimization: every worker trains its own model with its own optimizer, and the models
// meet. A setting (options.h) selects the algorithm; each algorithm is a file here.
//
//   for each epoch, in rounds (training_round.h):
//     each worker:  w_i <- update(w_i, gradient of its share at w_i);
//                   models meet, as the algorithm says (algorithm.h)
//   at an epoch's end: all form the result, each evaluates it on a part of the held-out samples,
//                   and one saves it
//
// Symbols: P workers, N parameters, B samples a step of a worker, tau steps between meetings.
// Cost: the algorithm's; at an epoch's end an all-reduce of N, or a broadcast.
// Failure: a lost worker's model is lost, and its shares of the round are dealt again. A newcomer
//   begins with the model of another. If all are lost, each resumes from its model and optimizer of
//   the last save, or from the result of that save.
#pragma once

#include "decentral/options.h"
#include "learner/learner.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "replica/training_task.h"
#include "runtime/node.h"
#include "runtime/task.h"

namespace shoal {

// The node program of a worker. All arguments outlive it, task and recipe too. `replica` is the
// worker's, made for this life of the node, with a ledger of the task's samples; it holds the
// result at the end. Reads neither global_batch, growth, save_every nor the budget. Throws
// ConfigError for an invalid task or recipe.
Task<void> decentral_worker(Node& node, Learner& learner, CheckpointStore& checkpoints,
                            Replica& replica, const TrainingTask& task, const Decentral& recipe,
                            Journal* journal = nullptr);

}  // namespace shoal
