// The worker of a job with servers: computes, pushes and reads (served.h).
//
//   served_group.h       the group of workers that it leads or helps
//   served_push_forms.h  the forms of its gradient, and what of it waits
//   served_parameters.h  what it has read of each shard
//   served_rounds.h      reproducible rounds
//   served_epoch_end.h   tasks at an epoch's end
#pragma once

#include <cstdint>
#include <vector>

#include "learner/learner.h"
#include "ps/requests.h"
#include "ps/served.h"
#include "ps/served_context.h"
#include "ps/served_epoch_end.h"
#include "ps/served_group.h"
#include "ps/served_parameters.h"
#include "ps/served_push_forms.h"
#include "ps/served_rounds.h"
#include "ps/shard_directories.h"
#include "ps/shard_map.h"
#include "replica/journal.h"
#include "replica/replica.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

class ServedWorker {
 public:
  // Both outlive it; it lives until kServing is retired for good.
  ServedWorker(ServedContext& context, CheckpointStore& checkpoints);

  // To the end of all epochs.
  Task<void> run();
  // Answers the other members of its group, until it is cancelled.
  Task<void> serve_group() { return group_.serve(); }

 private:
  Task<void> train();
  Task<void> help();

  // ---- Coming and going
  Task<void> come_in();
  Task<void> enter(std::uint32_t shard);
  Task<void> leave(std::uint32_t shard);
  Ending stops_asked();  // by the journal, or by a member of the group

  // ---- A step
  Task<void> compute();
  Task<void> compute_pass(ServedGroup::Pass pass, Range into, Score& score);
  Task<void> add_up();
  Task<void> advance();
  WantedShare wanted_share() const;
  Task<void> next_share();
  void take_next();
  void note_given(const GivenShare& given);

  // ---- Pushes
  Task<void> push_all(bool asks, bool reads);
  Task<void> push(std::uint32_t shard, bool asks, bool reads);
  Task<void> push_what_waits();

  ServedContext& context_;
  ServedGroup group_;
  PushForms forms_;
  ServedParameters parameters_;
  ServedRounds rounds_;
  ServedEpochEnd epoch_end_;

  Share share_;               // of the step at hand
  GivenShare next_;           // of the next step
  RoundShards next_piece_;    // of it, in rounds
  Range last_;                // the gradient of the step at hand
  std::uint64_t epoch_;       // whose end is next
  std::uint64_t newest_ = 0;  // version of a shard, when the worker entered
  std::uint64_t ended_ = 0;   // samples of all workers, by the last message
  bool over_ = false;         // the epoch is
  bool end_ = false;          // of all epochs
  Ending stops_ = Ending::No;
  StepReport report_;
};

}  // namespace shoal
