// Logistic regression of two classes, without libtorch: one weight for each feature, no bias.
//
//   P(label 1 | x) = 1 / (1 + exp(-w . x)),     loss = -log P(label)
//
// Of sparse samples only the weights of their own features are read and moved, which is what
// Hogwild is for (lane()). Trained by any other system it is a model like others.
#pragma once

#include <cstdint>
#include <memory>

#include "base/shared.h"
#include "learner/batch.h"
#include "learner/learner.h"
#include "runtime/lane.h"

namespace shoal {

inline constexpr const char* kLogisticModel = "logistic";

// The features of one sample: of sparse ones those that it has, of dense ones all.
struct Features {
  const std::int64_t* indices = nullptr;  // null: 0, 1, 2, ..
  const float* values = nullptr;
  std::size_t n = 0;

  std::size_t index(std::size_t k) const {
    return indices == nullptr ? k : static_cast<std::size_t>(indices[k]);
  }
};
Features features_of(const SampleShape& shape, const Batch& batch, std::size_t i);

// w <- w - eta * gradient, sample by sample, each at the weights as they are by then.
class LogisticLane : public Lane {
 public:
  // The batch may be filled until the first step. Both, and the score, outlive the lane.
  LogisticLane(Shared w, const SampleShape& shape, const Batch& batch, double eta, Score& score)
      : w_(w), shape_(shape), batch_(batch), eta_(static_cast<float>(eta)), score_(score) {}

  bool step() override;  // a read or a write of one weight
  void run() override {
    while (sample()) {
    }
  }
  // The next sample as a whole. REQUIRES: none is half done. False: there was none left.
  bool sample();
  Elements size() const override { return Elements(batch_.n); }

 private:
  void end_of_read();  // what all reads come to
  bool next_sample();

  Shared w_;
  const SampleShape& shape_;
  const Batch& batch_;
  const float eta_;
  Score& score_;  // gets the whole at the end: others' are beside it
  std::size_t sample_ = 0;
  // Within a sample: reads, then for each weight a read and a write.
  std::size_t k_ = 0;
  enum class Phase : std::uint8_t { Sum, Load, Store } phase_ = Phase::Sum;
  float z_ = 0;
  float change_ = 0;  // -eta times the derivative of the loss by z
  float loaded_ = 0;
  alignas(64) Score own_;
};

class LogisticLearner final : public Learner {
 public:
  // `test` may be null. Throws ConfigError for data that has not two classes.
  LogisticLearner(std::shared_ptr<const BatchSource> train,
                  std::shared_ptr<const BatchSource> test);

  const Layout& layout() const override { return layout_; }
  Substance substance() const override { return Substance::Real; }
  void initialize(Range state) const override;  // zero
  Task<void> gradient(Env& env, Range state, GradientTarget target, Portion portion,
                      Channel<Ready>& ready, Score& score) override;
  Task<Score> evaluate(Env& env, Range state, std::uint64_t from, std::uint64_t to) override;
  Task<Predictions> predict(Env& env, Range state, std::uint64_t from, std::uint64_t to) override;
  std::uint64_t held_out() const override { return test_ == nullptr ? 0 : test_->size(); }
  std::unique_ptr<Lane> lane(Range state, Portion portion, double eta, Score& score) override;

 private:
  std::shared_ptr<const BatchSource> train_, test_;
  Layout layout_;
};

}  // namespace shoal
