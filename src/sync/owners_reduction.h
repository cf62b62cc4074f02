// OwnersReduction: each member owns a part of the state. It gets the sum of that part of the
// gradient, by reduce-scatter, updates the part in a copy of the state, and sends it to all others,
// with the optimizer's slots, so that any remaining member can continue.
// Dai et al. 2019 (BigDL), arXiv:1804.05839.
//
// Cost a step and worker: 2(P-1) messages of N/P, and as many again for each slot; the update of
// N/P; a second copy of the state. A member alone updates in place.
#pragma once

#include "replica/replica.h"
#include "sync/gradient_parts.h"
#include "sync/reduction.h"
#include "sync/state_update.h"
#include "sync/sync_context.h"

namespace shoal {

class OwnersReduction final : public Reduction {
 public:
  OwnersReduction(Replica& replica, const SyncContext& context, StateUpdate& update,
                  GradientParts& parts)
      : replica_(replica), context_(context), update_(update), parts_(parts) {}

  void begin_view(const View& view, Rank own) override;
  Task<void> reduce(const Group& group, const Ready& bucket) override;
  Task<void> apply(const Group& group, const Ready& bucket) override;
  Task<void> spread(const Group& group, const Ready& bucket) override;
  Task<void> finish(const Group& group) override;

  bool copies_state() const override { return copies_; }
  bool any_buckets() const override { return true; }
  Range summed(const Group& group, const Ready& bucket) override;
  bool sums_whole() const override { return context_.recipe.shards > 0; }

 private:
  Replica& replica_;
  const SyncContext& context_;
  StateUpdate& update_;
  GradientParts& parts_;
  bool copies_ = false;  // in this view
};

}  // namespace shoal
