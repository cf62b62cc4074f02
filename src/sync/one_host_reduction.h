// OneHostReduction: each member owns a part of the state, as in owners_reduction.h, and all members
// are on one host, where each reads the others' memory in place:
//
//   hold     every member lends its gradient to all others, and reads theirs where they lie
//   finish   the owner of a part adds up the gradients of that part and updates it, in one pass;
//            then it lends the part to all others, which copy it, or keep reading it there
//
// So the sum is not stored. Only if the rule needs its norms, or its order is fixed
// (logical_shards.h), buckets are reduced as they become ready, and hold() lends the sums of the
// parts.
//
// Short parameters are copied into every member's state; long ones and the optimizer's slots stay
// with their owners (sharded_state.h). With two members and a short model, each computes the whole
// update: this passes over no more memory than a copy of the part, and no member waits.
//
// Cost a step and worker: with P-1 others one message each for the gradient and for each array of
//   the part; reading P N/P numbers of gradients; the update of N/P.
// Failure: what is lent outlives the process of its owner. When all have reported that they hold
//   everything, each can finish the step alone: it computes the part of a lost owner from the
//   memory that the owner has lent.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collective/group.h"
#include "replica/replica.h"
#include "runtime/node.h"
#include "sync/dealing.h"
#include "sync/gradient_parts.h"
#include "sync/lending.h"
#include "sync/reduction.h"
#include "sync/sharded_state.h"
#include "sync/state_update.h"
#include "sync/sync_context.h"

namespace shoal {

class OneHostReduction final : public Reduction {
 public:
  OneHostReduction(Node& node, Replica& replica, const SyncContext& context, const Dealing& dealing,
                   StateUpdate& update, GradientParts& parts, ShardedState& held, Lending& lending)
      : node_(node),
        replica_(replica),
        context_(context),
        dealing_(dealing),
        update_(update),
        parts_(parts),
        held_(held),
        lending_(lending) {}

  void begin_view(const View& view, Rank own) override;
  void begin_step() override;
  Task<void> reduce(const Group& group, const Ready& bucket) override;
  Task<void> hold(const Group& group) override;
  Task<void> finish(const Group& group) override;
  void let_go() override;

  bool takes_buckets() const override { return !sums_in_update_; }
  bool any_buckets() const override { return !sums_in_update_; }
  Range summed(const Group& group, const Ready& bucket) override;
  bool sums_whole() const override { return context_.recipe.shards > 0; }

 private:
  using Readings = std::vector<std::optional<Reading>>;

  // ---- Gradients
  Range lent_by(Rank r);
  Task<void> lend_and_read_gradients(const Group& group);
  std::vector<const float*> terms_of(const Group& group, Range of_g);

  // ---- Parts of the state
  Task<void> sum_and_update(const Group& group, Rank owner);
  Task<void> exchange_parts(const Group& group);
  Task<void> read_parts(const Group& group);
  Task<void> read_part(const Group& group, Rank owner);
  Task<void> take_part(const Group& group, Rank owner);
  std::uint64_t part_operation(unsigned array) const;
  unsigned arrays_copied() const;

  Node& node_;
  Replica& replica_;
  const SyncContext& context_;
  const Dealing& dealing_;
  StateUpdate& update_;
  GradientParts& parts_;
  ShardedState& held_;
  Lending& lending_;
  bool sums_in_update_ = false;  // in this view: owners add up gradients as they update
  // Memory of the others, by rank: gradients, or the sum of the part; and the part's arrays.
  Readings gradients_;
  std::vector<Readings> arrays_;
  std::vector<bool> taken_;  // whose parts are in the state
};

}  // namespace shoal
