#include "learner/quadratic.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/random.h"
#include "base/shared.h"

namespace shoal {

namespace {

Layout layout_of(const QuadraticOptions& options) {
  if (!options.statistics) return Layout::plain(options.dimensions);
  const auto n = static_cast<std::int64_t>(options.dimensions.value());
  return Layout({{.name = "w", .shape = {n}, .strides = {1}},
                 {.name = "passes", .section = Section::Buffer, .shape = {1}, .strides = {1}},
                 {.name = "count",
                  .section = Section::Side,
                  .dtype = Dtype::I32,
                  .shape = {1},
                  .strides = {1}}});
}

void count_pass(const Layout& layout, std::span<float> state) {
  if (layout.tensors().size() == 1) return;
  state[layout.tensors()[1].at.value()] += 1;
  float& count = state[layout.tensors()[2].at.value()];
  count = std::bit_cast<float>(std::bit_cast<std::uint32_t>(count) + 1);
}

}  // namespace

QuadraticLearner::QuadraticLearner(QuadraticOptions options)
    : options_(options), layout_(layout_of(options)) {
  const std::size_t n = options_.dimensions.value();
  SHOAL_CHECK_GT(n, 0U);
  options_.buckets = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(options_.buckets, 1, n));
  Random random(options_.seed, Purpose::Problem);
  for (std::size_t j = 0; j < n; ++j) {
    optimum_.push_back(static_cast<float>(random.normal()));
    const double place = n == 1 ? 0 : static_cast<double>(j) / static_cast<double>(n - 1);
    lambda_.push_back(static_cast<float>(std::pow(options_.condition, -place)));
  }
}

Cuts QuadraticLearner::pieces() const {
  Cuts cuts;
  const Range all{nullptr, Elements(0), options_.dimensions};
  for (std::uint32_t b = 0; b < options_.buckets; ++b) {
    const Range bucket = part_of(all, b, options_.buckets);
    cuts.push_back({bucket.at, bucket.n});
  }
  return cuts;
}

void QuadraticLearner::initialize(Range w) const { std::ranges::fill(w.data(), 0.0F); }

double QuadraticLearner::loss(std::span<const float> w) const {
  double sum = 0;
  for (std::size_t j = 0; j < optimum_.size(); ++j) {
    const double d = static_cast<double>(w[j]) - static_cast<double>(optimum_[j]);
    sum += 0.5 * static_cast<double>(lambda_[j]) * d * d;
  }
  return sum;
}

void QuadraticLearner::add_gradients(std::span<const float> w, std::span<const SampleId> samples,
                                     std::size_t from, std::span<float> g) const {
  const auto sigma = static_cast<float>(options_.noise);
  for (const SampleId sample : samples) {
    const float sign = sample % 2 == 0 ? sigma : -sigma;
    for (std::size_t i = 0; i < g.size();) {
      // 64 signs from one draw: element j of pair p is bit j%64 of word j/64 of p's stream.
      const std::size_t word = (from + i) / 64;
      const std::uint64_t bits = Random(options_.seed, Purpose::Noise, sample / 2, word).bits();
      const std::size_t end = std::min(g.size(), (word + 1) * 64 - from);
      for (; i < end; ++i) {
        const std::size_t j = from + i;
        const float z = (bits >> (j % 64) & 1U) != 0 ? sign : -sign;
        g[i] += lambda_[j] * (w[j] - optimum_[j] - z);
      }
    }
  }
}

Task<void> QuadraticLearner::gradient(Env& env, Range w, GradientTarget target, Portion portion,
                                      Channel<Ready>& ready, Score& score) {
  const Range g = target.g;
  const std::vector<SampleId>& samples = portion.samples;
  Elements touched = g.n * samples.size();
  if (target.gate != nullptr) {
    // Treats every bucket as a layer.
    for (std::uint32_t b = 0; b < options_.buckets; ++b) {
      const Range layer = part_of(g, b, options_.buckets);
      co_await target.gate->until(env, layer.at - g.at, layer.n);
      touched = layer.n * samples.size();
      if (b + 1 < options_.buckets) co_await env.work(Work::Forward, touched, [] {});
    }
  }
  co_await env.work(Work::Forward, touched, [&] {
    score += Score{.loss = loss(w.data()) * static_cast<double>(samples.size()),
                   .samples = samples.size()};
    if (!samples.empty()) count_pass(layout_, w.data());
  });
  for (std::uint32_t b = 0; b < options_.buckets; ++b) {
    // Backward reaches the last layer first.
    const Range bucket = part_of(g, options_.buckets - 1 - b, options_.buckets);
    co_await env.work(Work::Backward, bucket.n * samples.size(), [&] {
      std::vector<float> apart(target.sink == nullptr ? 0 : bucket.n.value());
      const std::span<float> out = target.sink == nullptr ? bucket.data() : std::span(apart);
      std::ranges::fill(out, 0.0F);
      add_gradients(w.data(), samples, (bucket.at - g.at).value(), out);
      if (target.sink != nullptr) target.sink->take(bucket.at - g.at, out);
    });
    ready.push(Ready{b, bucket.at - g.at, bucket.n});
  }
  ready.close();
}

namespace {

// Every sample changes all parameters, one after the other.
class DenseLane final : public Lane {
 public:
  DenseLane(const QuadraticLearner& learner, Shared w, Portion portion, double eta, Score& score)
      : learner_(learner),
        w_(w),
        portion_(std::move(portion)),
        eta_(static_cast<float>(eta)),
        score_(score) {}
  bool step() override {
    if (sample_ == portion_.samples.size()) return false;
    if (j_ == 0) read();
    w_.add(j_, -eta_ * g_[j_]);
    if (++j_ == g_.size()) {
      ++sample_;
      j_ = 0;
    }
    return true;
  }
  Elements size() const override {
    return Elements(learner_.layout().parameters().value() * portion_.samples.size());
  }

 private:
  void read() {
    at_.resize(learner_.layout().parameters().value());
    for (std::size_t j = 0; j < at_.size(); ++j) at_[j] = w_.load(j);
    g_.assign(at_.size(), 0.0F);
    const SampleId sample = portion_.samples[sample_];
    learner_.add_gradients(at_, std::span(&sample, 1), 0, g_);
    score_ += Score{.loss = learner_.loss(at_), .samples = 1};
  }

  const QuadraticLearner& learner_;
  Shared w_;
  const Portion portion_;
  const float eta_;
  Score& score_;
  std::size_t sample_ = 0;
  std::size_t j_ = 0;
  std::vector<float> at_, g_;
};

}  // namespace

std::unique_ptr<Lane> QuadraticLearner::lane(Range w, Portion portion, double eta, Score& score) {
  return std::make_unique<DenseLane>(*this, Shared(w.data()), std::move(portion), eta, score);
}

Task<Score> QuadraticLearner::evaluate(Env& env, Range w, std::uint64_t from, std::uint64_t to) {
  Score score;
  co_await env.work(Work::Forward, w.n, [&] {
    score = {.loss = loss(w.data()) * static_cast<double>(to - from), .samples = to - from};
  });
  co_return score;
}

}  // namespace shoal
