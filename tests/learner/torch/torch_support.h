// Small networks and data for the tests of the torch learner.
#pragma once

#include <torch/nn/modules/linear.h>

#include <memory>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "learner/torch/models.h"
#include "learner/torch/module.h"
#include "learner/torch/torch_learner.h"
#include "support/inline_env.h"

namespace shoal {

// A source whose numbers depend only on the sample.
class TestSource final : public BatchSource {
 public:
  TestSource(SampleShape shape, std::uint64_t size) : shape_(std::move(shape)), size_(size) {}
  const SampleShape& shape() const override { return shape_; }
  std::uint64_t size() const override { return size_; }
  void fill(std::uint64_t, std::span<const SampleId> samples, Batch& batch) const override {
    ++fills;
    std::size_t width = 1;
    for (const std::int64_t d : shape_.shape) width *= static_cast<std::size_t>(d);
    const auto classes = static_cast<std::uint64_t>(shape_.classes);
    batch = Batch();
    batch.n = samples.size();
    if (shape_.input == InputKind::Sparse) batch.offsets.push_back(0);
    for (const SampleId id : samples) {
      Random random(Seed(7), Purpose::Test, id);
      const std::uint64_t label = id % classes;
      if (shape_.input == InputKind::Dense)
        for (std::size_t i = 0; i < width; ++i)
          batch.dense.push_back(
              static_cast<float>(random.normal() * 0.5 + (i % classes == label ? 1.0 : 0.0)));
      if (shape_.input == InputKind::Tokens)
        for (std::size_t i = 0; i < width; ++i)
          batch.tokens.push_back(static_cast<std::int64_t>((id + i) % classes));
      if (shape_.input == InputKind::Sparse) {
        batch.indices.push_back(static_cast<std::int64_t>(label));
        batch.indices.push_back(static_cast<std::int64_t>(classes + id % 5));
        batch.weights.insert(batch.weights.end(), {1.0F, 0.5F});
        batch.offsets.push_back(static_cast<std::int64_t>(batch.indices.size()));
      }
      if (shape_.target == TargetKind::Classes)
        batch.labels.push_back(static_cast<std::int64_t>(label));
      if (shape_.target == TargetKind::Next)
        for (std::size_t i = 0; i < width; ++i)
          batch.labels.push_back(static_cast<std::int64_t>((id + i + 1) % classes));
      if (shape_.target == TargetKind::Values)
        for (std::uint64_t i = 0; i < classes; ++i)
          batch.values.push_back(static_cast<float>(random.normal()));
    }
  }

  mutable int fills = 0;  // calls of fill()

 private:
  SampleShape shape_;
  std::uint64_t size_;
};

inline SampleShape images(std::int64_t channels, std::int64_t pixels, std::int64_t classes = 10) {
  return {InputKind::Dense, {channels, pixels, pixels}, TargetKind::Classes, classes};
}
inline SampleShape numbers(std::int64_t features, std::int64_t classes) {
  return {InputKind::Dense, {features}, TargetKind::Classes, classes};
}

inline std::vector<SampleId> ids(std::uint64_t from, std::uint64_t n) {
  std::vector<SampleId> all(n);
  std::iota(all.begin(), all.end(), from);
  return all;
}

// A learner with the memory of a replica, without a world.
struct TestLearner {
  TestLearner(ModelFactory make, const SampleShape& shape, TorchLearnerOptions options = {})
      : source(std::make_shared<TestSource>(shape, 512)),
        learner(std::move(make), source, source, options),
        state(learner.layout().all(), Substance::Real),
        g(learner.layout().parameters(), Substance::Real) {
    learner.initialize(state.all());
  }
  TestLearner(const std::string& model, const SampleShape& shape, TorchLearnerOptions options = {})
      : TestLearner(model_factory(model, shape), shape, options) {}

  std::vector<Ready> step(std::uint64_t t, std::vector<SampleId> samples,
                          GradientSink* sink = nullptr) {
    return run(step_task(t, std::move(samples), sink));
  }
  Task<std::vector<Ready>> step_task(std::uint64_t t, std::vector<SampleId> samples,
                                     GradientSink* sink) {
    Portion portion{0, Step(t), 0, std::move(samples)};
    const GradientTarget target{g.all(), sink};
    Channel<Ready> channel;
    co_await learner.gradient(env, state.all(), target, std::move(portion), channel, score);
    std::vector<Ready> ready;
    while (auto bucket = co_await channel.next()) ready.push_back(*bucket);
    co_return ready;
  }
  at::Tensor gradient_of(const std::string& name) {
    const TensorEntry& t = *learner.layout().find(name);
    return at::from_blob(g.range(t.at, t.n).data().data(), t.shape, t.strides);
  }

  InlineEnv env;
  std::shared_ptr<TestSource> source;
  TorchLearner learner;
  Arena state, g;
  Score score;
};

}  // namespace shoal
