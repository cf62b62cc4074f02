#include "train/paced_learner.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parse.h"

namespace shoal {
namespace {

// An Env whose work takes no time.
class FreeEnv final : public Env {
 public:
  explicit FreeEnv(Env& env) : Env(env.seed()), env_(env) {}
  Time now() const override { return env_.now(); }
  void record(Event event) override { env_.record(event); }
  void probe(const char* what) override { env_.probe(what); }

 private:
  void start_sleep(SleepOp& op) override {
    SHOAL_CHECK(false, "a learner sleeps for {} s", seconds(op.duration()));
  }
  void abort_sleep(SleepOp&) override {}
  void start_work(WorkOp& op) override {
    try {
      op.run();
    } catch (...) {
      return op.failed_with(std::current_exception());
    }
    op.done();
  }
  bool abort_work(WorkOp&) override { return true; }

  Env& env_;
};

Elements cost(double ns, std::uint64_t samples) {
  return Elements(static_cast<std::uint64_t>(std::llround(ns * static_cast<double>(samples))));
}

}  // namespace

double Pace::total() const {
  double sum = forward;
  for (const double ns : backward) sum += ns;
  return sum;
}

Pace parse_pace(std::string_view text, const std::vector<Elements>& buckets) {
  const auto numbers = require_numbers<double>(
      "--ns-per-sample", text, "nanoseconds: in total, or of forward and of each bucket",
      {.least = 0});
  Pace pace;
  if (numbers.size() == 1) {
    Elements all;
    for (const Elements n : buckets) all += n;
    pace.forward = std::round(numbers[0] / 3);
    for (const Elements n : buckets)
      pace.backward.push_back(
          std::round((numbers[0] - pace.forward) * static_cast<double>(n.value()) /
                     static_cast<double>(all.value())));
    return pace;
  }
  if (numbers.size() != buckets.size() + 1)
    throw ConfigError(fmt::format(
        "--ns-per-sample {}: {} numbers, but forward and {} buckets are {}. Give one for "
        "the total, or that many",
        text, numbers.size(), buckets.size(), buckets.size() + 1));
  pace.forward = numbers[0];
  pace.backward.assign(numbers.begin() + 1, numbers.end());
  return pace;
}

std::string to_text(const Pace& pace) {
  std::string text = fmt::format("{}", pace.forward);
  for (const double ns : pace.backward) text += fmt::format(",{}", ns);
  return text;
}

std::unique_ptr<PhantomLearner> phantom_of(const Pace& pace, const std::vector<Elements>& buckets) {
  SHOAL_CHECK_EQ(pace.backward.size(), buckets.size());
  // Layers are in forward order; the first bucket belongs to the last layer.
  std::vector<PhantomLayer> layers;
  for (std::size_t i = buckets.size(); i-- > 0;)
    layers.push_back(
        {fmt::format("bucket {}", i), buckets[i], Elements(0), cost(pace.backward[i], 1)});
  // Forward is derived from backward, with a fraction of its own in every layer.
  Elements left = cost(pace.forward, 1);
  const double backward = pace.total() - pace.forward;
  for (std::size_t i = 1; i < layers.size() && backward > 0; ++i) {
    const double part = static_cast<double>(layers[i].backward.value()) / backward;
    layers[i].forward = std::min(left, cost(pace.forward * part, 1));
    left -= layers[i].forward;
  }
  layers.front().forward = left;
  return std::make_unique<PhantomLearner>(std::move(layers));
}

Task<void> PacedLearner::gradient(Env& env, Range state, GradientTarget target, Portion portion,
                                  Channel<Ready>& ready, Score& score) {
  const std::uint64_t samples = portion.samples.size();
  FreeEnv free(env);
  Channel<Ready> made;
  co_await inner_.gradient(free, state, target, std::move(portion), made, score);
  co_await env.work(Work::Forward, cost(pace_.forward, samples), [] {});
  while (auto bucket = co_await made.next()) {
    SHOAL_CHECK_LT(bucket->bucket, pace_.backward.size());
    co_await env.work(Work::Backward, cost(pace_.backward[bucket->bucket], samples), [] {});
    ready.push(std::move(*bucket));
  }
  ready.close();
}

namespace {

class PacedLane final : public Lane {
 public:
  PacedLane(std::unique_ptr<Lane> inner, Elements size) : inner_(std::move(inner)), size_(size) {}
  bool step() override { return inner_->step(); }
  void run() override { inner_->run(); }
  Elements size() const override { return size_; }

 private:
  std::unique_ptr<Lane> inner_;
  Elements size_;
};

}  // namespace

std::unique_ptr<Lane> PacedLearner::lane(Range state, Portion portion, double eta, Score& score) {
  const Elements size = cost(pace_.total(), portion.samples.size());
  std::unique_ptr<Lane> inner = inner_.lane(state, std::move(portion), eta, score);
  if (inner == nullptr) return inner;
  return std::make_unique<PacedLane>(std::move(inner), size);
}

Task<Predictions> PacedLearner::predict(Env& env, Range state, std::uint64_t from,
                                        std::uint64_t to) {
  FreeEnv free(env);
  Predictions predicted = co_await inner_.predict(free, state, from, to);
  co_await env.work(Work::Forward, cost(pace_.forward, to - from), [] {});
  co_return predicted;
}

Task<Score> PacedLearner::evaluate(Env& env, Range state, std::uint64_t from, std::uint64_t to) {
  FreeEnv free(env);
  const Score score = co_await inner_.evaluate(free, state, from, to);
  co_await env.work(Work::Forward, cost(pace_.forward, to - from), [] {});
  co_return score;
}

}  // namespace shoal
