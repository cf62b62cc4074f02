// SyncStep: one step of synchronous training, made by all members of a view together: from the
// state before it to the state after it. sync.h has the whole algorithm.
//
//   deal     the global batch is cut into micro-shards, each for a worker (dealing.h)
//   prepare  every worker computes the gradient of its micro-shard (local_gradient.h), and the
//            gradients are summed (reduction.h), each bucket as soon as backward has made it
//   tell     all know that all have reached this point: from here on the step counts
//   finish   the state becomes the one after the step
//   commit   the samples are settled
//
// Until all have told, the state is unchanged. After that each member can finish the step without
// the others: it has the whole sum, or holds its terms, in memory that outlives the other
// processes, or has the next state in a copy.
//
// Two kinds of recipes compute the whole gradient before they exchange any of it: those with
// logical shards, which sum in a fixed order (logical_shards.h), and those that do not wait for all
// workers (straggler_round.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collective/dissemination.h"
#include "collective/group.h"
#include "learner/learner.h"
#include "replica/journal.h"
#include "replica/per_worker_state.h"
#include "replica/replica.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/task.h"
#include "runtime/task_group.h"
#include "sync/buckets.h"
#include "sync/dealing.h"
#include "sync/early_pass.h"
#include "sync/encoded_sums.h"
#include "sync/exchange_choice.h"
#include "sync/factor_sums.h"
#include "sync/lending.h"
#include "sync/local_gradient.h"
#include "sync/logical_shards.h"
#include "sync/model_buffers.h"
#include "sync/reductions.h"
#include "sync/sharded_state.h"
#include "sync/state_update.h"
#include "sync/straggler_round.h"
#include "sync/sync_context.h"

namespace shoal {

// In every step, each member sends a note on its last step to all others.
struct StepNote {
  std::uint64_t samples = 0;     // of its gradient
  std::uint64_t compute_ns = 0;  // time for the gradient
  std::uint64_t step_ns = 0;     // time for the whole step
};

class SyncStep {
 public:
  SyncStep(Node& node, Learner& learner, Replica& replica, const SyncContext& context);

  // ---- A view
  // These tasks lend memory to peers until the view ends.
  void begin_lending(TaskGroup& tasks);
  // If the recipe leaves the exchange open: measures, chooses, and returns the choice as text.
  Task<std::string> choose_exchange(const Group& group, bool anew);
  // The members have agreed on step and state. Guests, by rank, do not have the state yet, and have
  // no samples in the first step.
  void begin_view(const View& view, std::vector<bool> guests);
  // The state came from another member, or was replaced.
  void state_arrived();
  // Whether durations of steps have changed so much that the exchange must be chosen again, the
  // same on all members.
  bool links_changed() const { return choice_.links_changed(); }
  // Called before the tasks that lend are cancelled: ends the early pass of the next step.
  void refuse_early_pass() { early_.refuse(); }

  // ---- A step
  const std::vector<MicroShard>& deal(const View& view);
  // Done when the step can be finished. May be cancelled at any time.
  Task<void> prepare(const Group& group);
  // Meanwhile, fetches the samples of the next step.
  Task<void> prefetch(const Group& group);
  // Tells the others that this member can finish the step. Done when all have: the step counts.
  Task<void> tell(const Group& group);
  // Done when the state is that after the step; ends even if other members are lost.
  Task<void> finish(const Group& group);
  // Releases memory of others, after finish() or instead of it.
  void let_go() { reduction_->let_go(); }
  // Instead of finish(): the state is that before the step.
  void give_up();
  // REQUIRES: finish() has ended.
  StepReport commit();

  // ---- The state
  // The part of the state that stays with its owners.
  ShardedState& held() { return held_; }
  // Arrays that no other worker has. inherit() takes over those of workers outside the view.
  std::vector<PerWorkerArray> per_worker_state() { return encoded_.per_worker_state(); }
  void inherit(std::span<const KeptArray> kept, const View& view) { encoded_.inherit(kept, view); }

 private:
  bool in_chunks() const { return reduction_ == &reductions_.priority; }
  bool computes_whole() const;
  void begin_report();
  Task<void> compute(const Group& group, Channel<Ready>& ready);
  Task<void> reduce_as_ready(const Group& group, Channel<Ready>& ready, TaskGroup& tasks);
  Task<void> apply_with_norms(const Group& group);

  Node& node_;
  Learner& learner_;
  Replica& replica_;
  const SyncContext& context_;
  Dealing dealing_;
  ModelBuffers model_buffers_;
  Lending lending_;
  ShardedState held_;
  StateUpdate update_;
  // The own gradient.
  EncodedSums encoded_;
  LocalGradient gradient_;
  EarlyPass early_;
  LogicalShards shards_;
  StragglerRound stragglers_;
  // The sum of all gradients.
  ExchangeChoice choice_;
  FactorSums factors_;
  Buckets buckets_;
  Reductions reductions_;
  Reduction* reduction_ = nullptr;  // of the view
  // Reports and notes.
  Gathering notes_;
  StepNote own_note_;  // of the last one
  StepReport report_;
  Time begun_{};
};

}  // namespace shoal
