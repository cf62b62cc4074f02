// The phantom learner: the sizes and times of a model, and none of its numbers. What a strategy
// does with it costs what it would cost with the model, and takes no memory.
#pragma once

#include <string>
#include <vector>

#include "learner/learner.h"

namespace shoal {

struct PhantomLayer {
  std::string name;
  Elements parameters;
  // Work of one sample, in elements of Work::Forward and Work::Backward.
  Elements forward;
  Elements backward;
};

class PhantomLearner final : public Learner {
 public:
  explicit PhantomLearner(std::vector<PhantomLayer> layers);  // in forward order

  Elements parameters() const override { return parameters_; }
  Substance substance() const override { return Substance::Phantom; }
  void initialize(Range) const override {}
  Task<void> gradient(Env& env, Range w, Range g, std::vector<SampleId> samples,
                      Channel<Ready>& ready) override;

 private:
  std::vector<PhantomLayer> layers_;
  Elements parameters_;
};

}  // namespace shoal
