// The learner on libtorch. Parameters, running statistics and counters of the network are views
// into the arena of each call; gradients go from autograd straight into it.
//
// By default autograd accumulates the gradient of a parameter in a tensor of its own. A hook before
// that copies the gradient into the arena, or passes it to a sink, and leaves nothing to
// accumulate. The gradient of a fully connected layer is not even copied: the product is written
// into the arena (factors.h). Hooks run on the thread that called backward; an exception in a hook
// ends backward, and the next one works.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "learner/batch.h"
#include "learner/learner.h"
#include "learner/torch/model.h"
#include "learner/torch_loader/torch_abi.h"

namespace shoal {

class TorchLearner final : public Learner {
 public:
  // Makes the network, and finds by a first batch in which order its gradients become ready. Throws
  // ConfigError if the network does not fit the data or cannot be trained.
  TorchLearner(ModelFactory make, std::shared_ptr<const BatchSource> train,
               std::shared_ptr<const BatchSource> test, TorchLearnerOptions options);
  ~TorchLearner() override;

  const Layout& layout() const override;
  Substance substance() const override { return Substance::Real; }
  bool waits_at_gates() const override { return true; }
  void initialize(Range state) const override;
  Task<void> gradient(Env& env, Range state, GradientTarget target, Portion portion,
                      Channel<Ready>& ready, Score& score) override;
  Task<Score> evaluate(Env& env, Range state, std::uint64_t from, std::uint64_t to) override;
  Task<Predictions> predict(Env& env, Range state, std::uint64_t from, std::uint64_t to) override;
  std::uint64_t held_out() const override;
  Task<void> prefetch(Env& env, Portion portion) override;
  void pause() override;

  // The network's output for samples of the training data; for tests and exports.
  at::Tensor output(Range state, std::span<const SampleId> samples);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shoal
