// The phantom learner: the sizes and times of a model without its numbers. A strategy has the same
// costs with it as with the model, but it takes no memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learner/learner.h"

namespace shoal {

struct PhantomLayer {
  std::string name;
  Elements parameters;
  // Work per sample, in elements of Work::Forward and Work::Backward.
  Elements forward;
  Elements backward;
};

class PhantomLearner final : public Learner {
 public:
  explicit PhantomLearner(std::vector<PhantomLayer> layers);  // in forward order

  const Layout& layout() const override { return layout_; }
  Substance substance() const override { return Substance::Phantom; }
  Cuts pieces() const override;
  bool waits_at_gates() const override { return true; }
  void initialize(Range) const override {}
  Task<void> gradient(Env& env, Range w, GradientTarget target, Portion portion,
                      Channel<Ready>& ready, Score& score) override;
  Task<Score> evaluate(Env& env, Range w, std::uint64_t from, std::uint64_t to) override;
  std::unique_ptr<Lane> lane(Range w, Portion portion, double eta, Score& score) override;

 private:
  std::vector<PhantomLayer> layers_;
  Layout layout_;
};

}  // namespace shoal
