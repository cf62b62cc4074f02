// EveryoneReduction: every member gets the sum of all gradients, by all-reduce, and updates its own
// copy of everything. The sum may be encoded (encoded_sums.h) or made of factors (factor_sums.h).
//
// Cost a step: that of the all-reduce (collective/), the update of N elements at each member.
#pragma once

#include "replica/replica.h"
#include "sync/encoded_sums.h"
#include "sync/exchange_choice.h"
#include "sync/factor_sums.h"
#include "sync/reduction.h"
#include "sync/state_update.h"

namespace shoal {

class EveryoneReduction final : public Reduction {
 public:
  EveryoneReduction(Replica& replica, StateUpdate& update, const ExchangeChoice& exchange,
                    EncodedSums& encoded, FactorSums& factors)
      : replica_(replica),
        update_(update),
        exchange_(exchange),
        encoded_(encoded),
        factors_(factors) {}

  void begin_view(const View&, Rank) override { update_.begin_view(false, false); }
  Task<void> reduce(const Group& group, const Ready& bucket) override;
  Task<void> finish(const Group& group) override;
  Range summed(const Group& group, const Ready& bucket) override;

 private:
  Replica& replica_;
  StateUpdate& update_;
  const ExchangeChoice& exchange_;
  EncodedSums& encoded_;
  FactorSums& factors_;
};

}  // namespace shoal
