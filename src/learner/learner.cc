#include "learner/learner.h"

namespace shoal {

Cuts Learner::pieces() const {
  Cuts cuts;
  for (const TensorEntry& tensor : layout().parameter_tensors())
    cuts.push_back({tensor.at, tensor.n});
  return cuts;
}

Task<void> Learner::prefetch(Env&, Portion) { co_return; }

std::unique_ptr<Lane> Learner::lane(Range, Portion, double, Score&) { return nullptr; }

}  // namespace shoal
