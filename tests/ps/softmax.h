// Softmax regression on synthetic data: the smallest model for which the outer product of gradients
// approximates the curvature, as for any log-likelihood.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "base/random.h"
#include "learner/layout.h"
#include "learner/learner.h"

namespace shoal {

class SoftmaxLearner final : public Learner {
 public:
  static constexpr std::size_t kFeatures = 8, kClasses = 3;

  explicit SoftmaxLearner(Seed seed) : seed_(seed), layout_({weight()}) {
    Random random(seed, Purpose::Problem);
    for (float& c : centres_) c = static_cast<float>(random.normal());
  }

  const Layout& layout() const override { return layout_; }
  Substance substance() const override { return Substance::Real; }
  void initialize(Range state) const override { std::ranges::fill(state.data(), 0.0F); }
  Task<void> gradient(Env& env, Range w, GradientTarget target, Portion portion,
                      Channel<Ready>& ready, Score& score) override {
    co_await env.work(Work::Backward, Elements(portion.samples.size() * kFeatures), [&] {
      std::ranges::fill(target.g.data(), 0.0F);
      add_gradients(w.data(), portion.samples, target.g.data());
    });
    score.samples += portion.samples.size();
    Ready bucket{0, Elements(0), target.g.n};
    bucket.factors = factors(w.data(), portion.samples);
    ready.push(std::move(bucket));
    ready.close();
  }
  Task<Score> evaluate(Env&, Range, std::uint64_t, std::uint64_t) override { co_return Score(); }
  std::uint64_t held_out() const override { return 0; }

  void add_gradients(std::span<const float> w, std::span<const SampleId> samples,
                     std::span<float> g) const {
    for (const SampleId sample : samples) {
      const Input x = input(sample);
      const Error e = error(w, sample, x);
      for (std::size_t k = 0; k < kClasses; ++k)
        for (std::size_t i = 0; i < kFeatures; ++i) g[k * kFeatures + i] += e[k] * x[i];
    }
  }

 private:
  static TensorEntry weight() {
    TensorEntry entry;
    entry.name = "weight";
    entry.shape = {kClasses, kFeatures};
    entry.strides = {kFeatures, 1};
    return entry;
  }

  using Input = std::array<float, kFeatures>;
  using Error = std::array<float, kClasses>;

  Input input(SampleId sample) const {
    Random random(seed_, Purpose::Noise, sample);
    Input x{};
    for (std::size_t i = 0; i < kFeatures; ++i)
      x[i] = centres_[sample % kClasses * kFeatures + i] + static_cast<float>(random.normal());
    return x;
  }
  static Error error(std::span<const float> w, SampleId sample, const Input& x) {
    Error p{};
    float sum = 0;
    for (std::size_t k = 0; k < kClasses; ++k) {
      for (std::size_t i = 0; i < kFeatures; ++i) p[k] += w[k * kFeatures + i] * x[i];
      p[k] = std::exp(std::min(p[k], 30.0F));
      sum += p[k];
    }
    for (std::size_t k = 0; k < kClasses; ++k)
      p[k] = p[k] / sum - (k == sample % kClasses ? 1.0F : 0.0F);
    return p;
  }
  Factors factors(std::span<const float> w, std::span<const SampleId> samples) const {
    auto inputs = std::make_shared<std::vector<float>>();
    auto errors = std::make_shared<std::vector<float>>();
    for (const SampleId sample : samples) {
      const Input x = input(sample);
      const Error e = error(w, sample, x);
      inputs->insert(inputs->end(), x.begin(), x.end());
      errors->insert(errors->end(), e.begin(), e.end());
    }
    return {Elements(samples.size()),
            Elements(kClasses),
            Elements(kFeatures),
            {errors, errors->data()},
            {inputs, inputs->data()}};
  }

  Seed seed_;
  Layout layout_;
  std::array<float, kFeatures * kClasses> centres_{};
};

}  // namespace shoal
