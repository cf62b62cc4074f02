// Data-parallel SGD through parameter servers. Dean et al. 2012 (DistBelief, Downpour SGD); Li et
// al. 2014 (parameter server); Ho et al. 2013 (SSP); what differs between them is in the options.
//
//   worker, for t = 0, 1, ...:
//     compute g, the gradient of its share of the samples at w; G <- G + g
//     every n_push steps, and before it reads: push G to all shards at once, G <- 0
//     every n_fetch steps, or when w is too old for the bound: pull w (ps/options.h)
//     else: w <- w - eta g / B, alone
//   server, of S that hold a part of w each (ps/server.h):
//     G <- its weight times G, corrected for its delay where that is asked for
//     w <- update(w, G / samples, eta), when and of which pushes: ps/consistency.h
//   where the sum has one fixed order workers push sums of logical shards: ps/round_handler.h
//   a group of workers may be one to the servers: served_group.h
//   G may be encoded on its way, with what is left out waiting (ps/encoded_push.h), and so may w
//   at an epoch's end: each worker evaluates w on a part of what was held out; one saves it
//
// Symbols: P workers, S servers, R copies of each shard, N parameters, B samples a step, t clock.
// Cost a step and worker, at n_push = n_fetch = 1: S messages of N/S each way; with R copies R - 1
//   more between servers. Factors (ps/factored.h): B (M + N') for a layer of M x N', one way.
// Deviations: the scheduler of samples is a part of the first shard, so that no sample is lost or
//   counted twice whoever fails; DistBelief's workers have each a part of the data for themselves.
//   Workers wait at an epoch's end until all of its samples are in w, to evaluate one state; where
//   a bound ties them together they also begin one together, so that in step every round has the
//   batch that all-reduce has, cut in the same way. What forward passes change beside the
//   parameters (running statistics) is each worker's own until then, and that of one of them after.
// Failure: workers and servers come and go. Nobody waits for a lost worker; its share is dealt
//   again if it came nowhere. A lost server's shards are served by the next that holds them; with
//   R = 1 they are as they were last saved.
#pragma once

#include <cstdint>

#include "base/types.h"
#include "encoded/encode.h"
#include "learner/learner.h"
#include "optim/rule.h"
#include "optim/schedule.h"
#include "ps/options.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "runtime/node.h"
#include "runtime/task.h"

namespace shoal {

struct ServedOptions {
  std::uint64_t epochs = 1;
  std::uint64_t last_epoch = 0;  // samples of the last one; 0: all
  std::uint64_t batch = 32;      // B, of a worker
  std::uint64_t workers = 1;     // that are expected
  std::uint64_t hosts = 1;       // that they are on
  std::uint64_t shards = 1;      // S, when none is missing
  ParameterServerOptions ps{};   // R, and how
  Encode encode{};               // what pushes are on their way
  bool mean = true;              // of the samples of an update; false: their gradients add up
  Rule rule{};
  double eta = 0.1;
  Schedule schedule{};
  bool evaluate = false;
  // Above 0: the gradient of a step is that of so many logical shards of `round_batch` samples,
  // whoever computes them, summed in one fixed tree: ps/round_handler.h. In step alone.
  std::uint32_t logical = 0;
  std::uint64_t round_batch = 0;
};

// The optimizer at the servers. Throws ConfigError for one that they cannot apply.
Rule rule_at_servers(const Rule& rule, const ParameterServerOptions& ps, std::uint64_t workers);

// The program of a node: its part of the servers, if it has one, and that of a worker, if it is
// one. Ends when all epochs are over everywhere. `replica` is made for this life of the node; a
// worker's holds the result at the end. Throws ConfigError for options that cannot be.
Task<void> served_node(Node& node, Learner& learner, CheckpointStore& checkpoints, Replica& replica,
                       ServedOptions options, Journal* journal = nullptr);

}  // namespace shoal
