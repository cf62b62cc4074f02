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

#include <cstdint>

#include "decentral/training_round.h"
#include "learner/learner.h"
#include "optim/schedule.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "runtime/node.h"
#include "runtime/task.h"

namespace shoal {

struct DecentralOptions {
  std::uint64_t epochs = 1;
  std::uint64_t last_epoch = 0;  // samples of the last one; 0: all
  std::uint64_t batch = 32;      // B, of a worker
  std::uint64_t workers = 1;     // that are expected
  Decentral recipe{};
  Rule rule{};
  double eta = 0.1;
  Schedule schedule{};
  bool evaluate = false;
  bool audit = false;  // of meetings, for the checkers; costs passes over the models that meet
};

// The node program of a worker. `replica` is the worker's, made for this life of the node; it holds
// the result at the end. Throws ConfigError for invalid options.
Task<void> decentral_worker(Node& node, Learner& learner, CheckpointStore& checkpoints,
                            Replica& replica, DecentralOptions options, Journal* journal = nullptr);

}  // namespace shoal
