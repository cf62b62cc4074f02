// Data-parallel SGD through parameter servers. Dean et al. 2012 (DistBelief, Downpour SGD); Li et
// al. 2014 (parameter server); Ho et al. 2013 (SSP); what differs between them is in the recipe.
//
//   worker, for t = 0, 1, ...:
//     compute g, the gradient of its share of the samples at w; G <- G + g
//     every n_push steps, and before it reads: push G to all shards at once, G <- 0
//     every n_fetch steps, or when w is too old for the bound: pull w (ps/options.h)
//     else: w <- w - eta g / B, at the worker
//   server, of S that hold a part of w each (ps/server.h):
//     G <- its weight times G, with an optional correction of its delay
//     w <- update(w, G / samples, eta), when and from which pushes: ps/consistency.h
//   if the sum has a fixed order, workers push sums of logical shards: ps/round_handler.h
//   a group of workers may be one to the servers: served_group.h
//   G may be encoded, with a residual at the worker (ps/encoded_push.h), and so may w
//   at an epoch's end: each worker evaluates w on a part of the held-out samples; one saves it
//
// Symbols: P workers, S servers, R copies of each shard, N parameters, B samples a step, t clock.
// Cost a step and worker, at n_push = n_fetch = 1: S messages of N/S each way; with R copies R - 1
//   more between servers. Factors (ps/factored.h): B (M + N') for a layer of M x N', one way.
// Deviations: the scheduler of samples is a part of the first shard, so that no failure loses a
//   sample or counts it twice; in DistBelief each worker owns a part of the data. Workers wait at
//   an epoch's end until all of its samples are in w, to evaluate one state; under a bound they
//   also begin an epoch together, so that in synchronous training every round has the same batch as
//   all-reduce, cut in the same way. Running statistics, which forward passes change, are each
//   worker's own until then, and those of one worker afterwards.
// Failure: workers and servers come and go. No worker waits for a lost one; its share is dealt
//   again if no server got it. The next holder serves the shards of a lost server; with R = 1 they
//   return to their last saved state.
#pragma once

#include <cstdint>

#include "learner/learner.h"
#include "optim/rule.h"
#include "ps/served_recipe.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "replica/training_task.h"
#include "runtime/node.h"
#include "runtime/task.h"

namespace shoal {

// The optimizer at the servers. Throws ConfigError for one that they cannot apply.
Rule rule_at_servers(const Rule& rule, const ParameterServerOptions& ps, std::uint64_t workers);

// The program of a node: its part of the servers, if it has one, and that of a worker, if it is
// one. Ends when all epochs are over everywhere. All arguments outlive it. `replica` is made for
// this life of the node, with a ledger of the task's samples; a worker's holds the result at the
// end. Reads neither growth, save_every, audit nor the budget. `mean`: of the samples of an update;
// false: their gradients add up. Throws ConfigError for a task or recipe that cannot be.
Task<void> served_node(Node& node, Learner& learner, CheckpointStore& checkpoints, Replica& replica,
                       const TrainingTask& task, const Served& recipe, Journal* journal = nullptr,
                       bool mean = true);

}  // namespace shoal
