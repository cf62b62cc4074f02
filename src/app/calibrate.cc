#include "app/calibrate.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "collective/reduce.h"
#include "optim/update.h"
#include "runtime/live/live_env.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

constexpr int kRounds = 4;  // the first one warms up
constexpr Elements kElements{4 << 20};

// The buckets, and the seconds after which each was ready.
using Marks = std::vector<std::pair<Elements, double>>;

// One gradient of the first samples.
Task<void> one_gradient(LiveEnv& env, Learner& learner, Range state, Range g, std::uint64_t batch,
                        Marks& marks) {
  Portion portion;
  portion.samples.resize(batch);
  std::iota(portion.samples.begin(), portion.samples.end(), SampleId{0});
  const GradientTarget target{g, nullptr};
  Channel<Ready> ready;
  Score score;
  const Time begin = env.now();
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    tasks.spawn(learner.gradient(env, state, target, std::move(portion), ready, score));
    while (auto bucket = co_await ready.next())
      marks.emplace_back(bucket->n, seconds(env.now() - begin));
  });
}

// The fastest of these rounds, after some for warming up.
Marks marks_of(Learner& learner, std::uint64_t batch, int rounds) {
  LiveLoop loop;
  ComputeThread compute;
  LiveEnv env(loop, {.compute = &compute});
  Arena state(learner.layout().all(), Substance::Real);
  Arena g(learner.layout().parameters(), Substance::Real);
  learner.initialize(state.all());
  Marks best;
  for (int round = 0; round < rounds; ++round) {
    Marks marks;
    run_task(loop, one_gradient(env, learner, state.all(), g.all(), batch, marks));
    if (best.empty() || marks.back().second < best.back().second) best = std::move(marks);
  }
  return best;
}

// Two digits are what a short loop can tell, and what a person can read.
double rounded(double ns) {
  if (ns <= 0) return 0;
  const double scale = std::pow(10, std::floor(std::log10(ns)) - 1);
  return std::round(ns / scale) * scale;
}

// Nanoseconds an element of the quickest round.
double measure(LiveEnv& env, const std::function<void()>& once) {
  Duration best = Duration::max();
  for (int round = 0; round < kRounds; ++round) {
    const Time begin = env.now();
    once();
    best = std::min(best, env.now() - begin);
  }
  return rounded(seconds(best) * 1e9 / static_cast<double>(kElements.value()));
}

}  // namespace

ElementCosts parse_element_costs(std::string_view text) {
  ElementCosts costs;
  const std::string whole(text);
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::vector<std::string> known = {"reduce", "update", "copy", "encode", "decode"};
    const auto it = std::ranges::find(known, name);
    if (it == known.end())
      throw ConfigError(fmt::format("--ns-per-element {}: '{}' is no work. {}", whole, name,
                                    suggest(name, known)));
    const std::string_view number =
        equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    const auto value = parse_number<double>(number, {.least = 0});
    if (!value)
      throw ConfigError(fmt::format(
          "--ns-per-element {}: '{}' has no number of nanoseconds behind it, as reduce=0.5 has",
          whole, word));
    double* const targets[] = {&costs.reduce, &costs.update, &costs.copy, &costs.encode,
                               &costs.decode};
    *targets[it - known.begin()] = *value;
  }
  return costs;
}

std::string to_text(const ElementCosts& costs) {
  return fmt::format("reduce={:.4g},update={:.4g},copy={:.4g},encode={:.4g},decode={:.4g}",
                     costs.reduce, costs.update, costs.copy, costs.encode, costs.decode);
}

void set_costs(Cluster& cluster, const ElementCosts& costs) {
  const auto set = [&](Work kind, double ns) {
    cluster.ns_per_element[static_cast<std::size_t>(kind)] = ns;
  };
  set(Work::Forward, 1);
  set(Work::Backward, 1);
  set(Work::Reduce, costs.reduce);
  set(Work::Update, costs.update);
  set(Work::Copy, costs.copy);
  set(Work::Encode, costs.encode);
  set(Work::Decode, costs.decode);
}

std::vector<Elements> buckets_of(Learner& learner) {
  std::vector<Elements> buckets;
  for (const auto& [n, when] : marks_of(learner, 0, 1)) buckets.push_back(n);
  return buckets;
}

Pace measure_pace(Learner& learner, std::uint64_t batch) {
  const Marks marks = marks_of(learner, batch, kRounds);
  const auto ns = [&](double s) { return std::round(s * 1e9 / static_cast<double>(batch)); };
  Pace pace;
  // The end of the forward pass is not reported; it takes about a third, and ends before the first
  // bucket.
  double before = std::min(marks.front().second, marks.back().second / 3);
  pace.forward = ns(before);
  for (const auto& [n, ready] : marks) {
    pace.backward.push_back(ns(ready - before));
    before = ready;
  }
  return pace;
}

ElementCosts measure_elements(const Rule& rule) {
  LiveLoop loop;
  LiveEnv env(loop, {});
  Arena w(kElements, Substance::Real);
  Arena g(kElements, Substance::Real);
  Arena state(kElements * slots(rule), Substance::Real);
  std::ranges::fill(w.all().data(), 0.5F);
  std::ranges::fill(g.all().data(), 0.25F);
  std::uint64_t t = 0;
  ElementCosts costs;
  costs.reduce = measure(env, [&] { add(w.all().data(), g.all().data()); });
  costs.copy = measure(env, [&] {
    std::memcpy(w.all().data().data(), g.all().data().data(), kElements.value() * sizeof(float));
  });
  costs.update = measure(env, [&] {
    const UpdateTarget all{w.all(), g.all(), state.all(), Elements(0), {}};
    run_task(loop, update(env, rule, UpdateStep{0.01, ++t, 64}, all));
  });
  return costs;
}

}  // namespace shoal
