// RootReduction: rank 0 gets the sum of all gradients, up a tree, updates a copy of the state, and
// sends it down the tree to all.
//
// Cost a step: two trees, the second for each array of the state; the update of N at rank 0; a
// second copy of the state. A member alone updates in place.
#pragma once

#include "replica/replica.h"
#include "sync/reduction.h"
#include "sync/state_update.h"

namespace shoal {

class RootReduction final : public Reduction {
 public:
  RootReduction(Replica& replica, StateUpdate& update) : replica_(replica), update_(update) {}

  void begin_view(const View& view, Rank own) override;
  Task<void> reduce(const Group& group, const Ready& bucket) override;
  Task<void> apply(const Group& group, const Ready& bucket) override;
  Task<void> spread(const Group& group, const Ready& bucket) override;
  Task<void> finish(const Group& group) override;

  bool copies_state() const override { return copies_; }
  Range summed(const Group& group, const Ready& bucket) override;
  bool sums_whole() const override { return false; }

 private:
  Replica& replica_;
  StateUpdate& update_;
  bool copies_ = false;  // in this view
};

}  // namespace shoal
