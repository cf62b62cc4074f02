#include "learner/logistic.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace shoal {
namespace {

std::int64_t features_in(const SampleShape& shape) {
  return std::accumulate(shape.shape.begin(), shape.shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

Layout layout_of(const SampleShape& shape) {
  if (shape.input == InputKind::Tokens || shape.target != TargetKind::Classes || shape.classes != 2)
    throw ConfigError(
        fmt::format("--model {} with {}: it needs numbers and two classes; take such data, "
                    "or another --model",
                    kLogisticModel, describe(shape)));
  return Layout({{.name = "weight", .shape = {features_in(shape)}, .strides = {1}}});
}

// Adds the sample to the score; returns the derivative of its loss by z.
float judge(float z, std::int64_t label, Score& score) {
  const float p = 1 / (1 + std::exp(-z));
  const bool one = label == 1;
  // log(1 + exp(-|z|)) never overflows.
  score.loss += static_cast<double>(std::log1p(std::exp(-std::abs(z)))) +
                static_cast<double>(std::max(one ? -z : z, 0.0F));
  ++score.samples;
  ++score.predictions;
  if ((z > 0) == one) ++score.correct;
  return p - (one ? 1.0F : 0.0F);
}

float product(std::span<const float> w, const Features& x) {
  float z = 0;
  for (std::size_t k = 0; k < x.n; ++k) z += w[x.index(k)] * x.values[k];
  return z;
}

// A lane with a batch of its own, which its thread fills.
class OwnBatchLane final : public Lane {
 public:
  OwnBatchLane(Shared w, const BatchSource& source, Portion portion, double eta, Score& score)
      : source_(source),
        portion_(std::move(portion)),
        steps_(w, source.shape(), batch_, eta, score) {}
  bool step() override {
    fill();
    return steps_.step();
  }
  void run() override {
    fill();
    steps_.run();
  }
  Elements size() const override { return Elements(portion_.samples.size()); }

 private:
  void fill() {
    if (std::exchange(filled_, true)) return;
    source_.fill(portion_.epoch, portion_.samples, batch_);
  }

  const BatchSource& source_;
  const Portion portion_;
  Batch batch_;
  bool filled_ = false;
  LogisticLane steps_;
};

}  // namespace

Features features_of(const SampleShape& shape, const Batch& batch, std::size_t i) {
  if (shape.input == InputKind::Sparse) {
    const auto from = static_cast<std::size_t>(batch.offsets[i]);
    const auto to = static_cast<std::size_t>(batch.offsets[i + 1]);
    return {batch.indices.data() + from, batch.weights.data() + from, to - from};
  }
  const auto n = static_cast<std::size_t>(features_in(shape));
  return {nullptr, batch.dense.data() + i * n, n};
}

// ---- A lane

bool LogisticLane::sample() {
  if (sample_ == batch_.n) return false;
  const Features x = features_of(shape_, batch_, sample_);
  float z = 0;
  for (std::size_t k = 0; k < x.n; ++k) z += w_.load(x.index(k)) * x.values[k];
  const float change = -eta_ * judge(z, batch_.labels[sample_], own_);
  for (std::size_t k = 0; k < x.n; ++k) w_.add(x.index(k), change * x.values[k]);
  return next_sample();
}

bool LogisticLane::next_sample() {
  if (++sample_ < batch_.n) return true;
  score_ += own_;
  return false;
}

bool LogisticLane::step() {
  if (sample_ == batch_.n) return false;
  const Features x = features_of(shape_, batch_, sample_);
  if (phase_ == Phase::Sum) {
    if (k_ < x.n) {
      z_ += w_.load(x.index(k_)) * x.values[k_];
      ++k_;
      return true;
    }
    end_of_read();
  }
  if (k_ == x.n) {
    k_ = 0;
    phase_ = Phase::Sum;
    return next_sample();
  }
  if (phase_ == Phase::Load) {
    loaded_ = w_.load(x.index(k_));
    phase_ = Phase::Store;
  } else {
    w_.store(x.index(k_), loaded_ + change_ * x.values[k_]);
    ++k_;
    phase_ = Phase::Load;
  }
  return true;
}

void LogisticLane::end_of_read() {
  change_ = -eta_ * judge(std::exchange(z_, 0.0F), batch_.labels[sample_], own_);
  k_ = 0;
  phase_ = Phase::Load;
}

// ---- The learner

LogisticLearner::LogisticLearner(std::shared_ptr<const BatchSource> train,
                                 std::shared_ptr<const BatchSource> test)
    : train_(std::move(train)), test_(std::move(test)), layout_(layout_of(train_->shape())) {}

void LogisticLearner::initialize(Range state) const { std::ranges::fill(state.data(), 0.0F); }

Task<void> LogisticLearner::gradient(Env& env, Range state, GradientTarget target, Portion portion,
                                     Channel<Ready>& ready, Score& score) {
  const Elements n = layout_.parameters();
  co_await env.work(Work::Backward, Elements(portion.samples.size()), [&] {
    Batch batch;
    train_->fill(portion.epoch, portion.samples, batch);
    std::vector<float> apart(target.sink == nullptr ? 0 : n.value());
    const std::span<float> g = target.sink == nullptr ? target.g.data() : std::span(apart);
    std::ranges::fill(g, 0.0F);
    for (std::size_t i = 0; i < batch.n; ++i) {
      const Features x = features_of(train_->shape(), batch, i);
      const float d = judge(product(state.data(), x), batch.labels[i], score);
      for (std::size_t k = 0; k < x.n; ++k) g[x.index(k)] += d * x.values[k];
    }
    if (target.sink != nullptr) target.sink->take(Elements(0), g);
  });
  ready.push(Ready{0, Elements(0), n});
  ready.close();
}

Task<Score> LogisticLearner::evaluate(Env& env, Range state, std::uint64_t from, std::uint64_t to) {
  constexpr std::uint64_t kAtOnce = 1024;
  Score score;
  for (std::uint64_t at = from; at < to; at += kAtOnce) {
    const std::uint64_t n = std::min(kAtOnce, to - at);
    co_await env.work(Work::Forward, Elements(n), [&] {
      std::vector<SampleId> samples(n);
      std::iota(samples.begin(), samples.end(), at);
      Batch batch;
      test_->fill(0, samples, batch);
      for (std::size_t i = 0; i < batch.n; ++i)
        judge(product(state.data(), features_of(test_->shape(), batch, i)), batch.labels[i], score);
    });
  }
  co_return score;
}

Task<Predictions> LogisticLearner::predict(Env& env, Range state, std::uint64_t from,
                                           std::uint64_t to) {
  Predictions all{.classes = 2, .rows = {}, .labels = {}};
  co_await env.work(Work::Forward, Elements(to - from), [&] {
    std::vector<SampleId> samples(to - from);
    std::iota(samples.begin(), samples.end(), from);
    Batch batch;
    test_->fill(0, samples, batch);
    for (std::size_t i = 0; i < batch.n; ++i) {
      const float z = product(state.data(), features_of(test_->shape(), batch, i));
      const float p = 1 / (1 + std::exp(-z));
      all.rows.insert(all.rows.end(), {1 - p, p});
    }
    all.labels = std::move(batch.labels);
  });
  co_return all;
}

std::unique_ptr<Lane> LogisticLearner::lane(Range state, Portion portion, double eta,
                                            Score& score) {
  return std::make_unique<OwnBatchLane>(Shared(state.data()), *train_, std::move(portion), eta,
                                        score);
}

}  // namespace shoal
