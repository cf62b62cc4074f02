// Logistic regression of two classes, without libtorch: one weight for each feature, no bias.
//
//   P(label 1 | x) = 1 / (1 + exp(-w . x)),     loss = -log P(label)
//
// A sparse sample reads and changes only the weights of its own features, as Hogwild requires
// (lane()). Other systems can train it too.
#pragma once

#include <cstdint>
#include <memory>

#include "base/shared.h"
#include "learner/batch.h"
#include "learner/learner.h"
#include "runtime/lane.h"

namespace shoal {

inline constexpr const char* kLogisticModel = "logistic";

// The features of a sample: the present ones if sparse, all if dense.
struct Features {
  const std::int64_t* indices = nullptr;  // null: 0, 1, 2, ..
  const float* values = nullptr;
  std::size_t n = 0;

  std::size_t index(std::size_t k) const {
    return indices == nullptr ? k : static_cast<std::size_t>(indices[k]);
  }
};
Features features_of(const SampleShape& shape, const Batch& batch, std::size_t i);

// w <- w - eta * gradient, sample by sample, each with the present weights.
class LogisticLane : public Lane {
 public:
  // The batch may be filled until the first step. Batch, shape and score outlive the lane.
  LogisticLane(Shared w, const SampleShape& shape, const Batch& batch, double eta, Score& score)
      : w_(w), shape_(shape), batch_(batch), eta_(static_cast<float>(eta)), score_(score) {}

  bool step() override;  // reads or writes one weight
  void run() override {
    while (sample()) {
    }
  }
  // Processes the next sample as a whole. REQUIRES: no sample is half done. False: none was left.
  bool sample();
  Elements size() const override { return Elements(batch_.n); }

 private:
  void end_of_read();  // computes the change from all reads
  bool next_sample();

  Shared w_;
  const SampleShape& shape_;
  const Batch& batch_;
  const float eta_;
  Score& score_;  // gets the total at the end, to avoid false sharing
  std::size_t sample_ = 0;
  // State within a sample: reads first, then for each weight a read and a write.
  std::size_t k_ = 0;
  enum class Phase : std::uint8_t { Sum, Load, Store } phase_ = Phase::Sum;
  float z_ = 0;
  float change_ = 0;  // -eta times the derivative of the loss by z
  float loaded_ = 0;
  alignas(64) Score own_;
};

class LogisticLearner final : public Learner {
 public:
  // `test` may be null. Throws ConfigError unless the data has two classes.
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
