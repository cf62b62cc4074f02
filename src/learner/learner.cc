#include "learner/learner.h"

#include "base/error.h"

namespace shoal {

Cuts Learner::pieces() const {
  Cuts cuts;
  for (const TensorEntry& tensor : layout().parameter_tensors())
    cuts.push_back({tensor.at, tensor.n});
  return cuts;
}

Task<void> Learner::prefetch(Env&, Portion) { co_return; }

Task<Predictions> Learner::predict(Env&, Range, std::uint64_t, std::uint64_t) {
  throw ConfigError(
      "this model predicts no classes, so predictions cannot be combined; take one that does, "
      "or "
      "--combine none");
}

std::unique_ptr<Lane> Learner::lane(Range, Portion, double, Score&) { return nullptr; }

}  // namespace shoal
