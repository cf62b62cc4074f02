// ApartReduction: nothing is summed, and each member updates its state with its own gradient. It
// serves to measure the cost of an exchange, not to train a model.
#pragma once

#include "replica/replica.h"
#include "sync/reduction.h"
#include "sync/state_update.h"

namespace shoal {

class ApartReduction final : public Reduction {
 public:
  ApartReduction(Replica& replica, StateUpdate& update) : replica_(replica), update_(update) {}

  void begin_view(const View&, Rank) override { update_.begin_view(false, false); }
  Task<void> reduce(const Group&, const Ready&) override { co_return; }
  Task<void> finish(const Group&) override { return update_.apply(replica_.g().all()); }
  bool takes_buckets() const override { return false; }
  Range summed(const Group&, const Ready& bucket) override {
    return replica_.g().range(bucket.at, bucket.n);
  }

 private:
  Replica& replica_;
  StateUpdate& update_;
};

}  // namespace shoal
