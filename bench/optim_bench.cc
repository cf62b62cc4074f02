#include "bench/optim_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>

#include "base/random.h"
#include "bench/optim_oracle.h"
#include "runtime/live/live_env.h"

namespace shoal {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// A perceptron of 784, 2048, 2048 and 10 units has 5.8 M parameters.
std::vector<Segment> perceptron(double scale) {
  const auto hidden = static_cast<std::uint64_t>(std::max(4.0, 2048 * std::sqrt(scale)));
  std::vector<Segment> tensors;
  Elements at{};
  const auto layer = [&](std::uint64_t in, std::uint64_t out) {
    tensors.push_back({at, Elements(in * out)});
    at += Elements(in * out);
    tensors.push_back({at, Elements(out), false, false});
    at += Elements(out);
  };
  layer(784, hidden);
  layer(hidden, hidden);
  layer(hidden, 10);
  return tensors;
}

// Bytes read and written per parameter, including the norms; each rule's file tells them.
double bytes_per_parameter(const Rule& rule) {
  const double norm_of_g = rule.clip_norm > 0 && rule.kind != RuleKind::Lars ? 4 : 0;
  const double arrays = 12 + 8 * slots(rule);
  if (rule.kind == RuleKind::Lars) return 8 + arrays;
  if (rule.kind == RuleKind::Lamb) return norm_of_g + 16 + arrays;
  return norm_of_g + arrays;
}

struct Model {
  Model(const Rule& rule, std::vector<Segment> segments)
      : tensors(std::move(segments)),
        n(tensors.back().at + tensors.back().n),
        w(n, Substance::Real),
        g(n, Substance::Real),
        s(n * slots(rule), Substance::Real),
        copy(n, Substance::Real) {
    Random random(Seed(1), Purpose::Problem);
    for (const std::span<float> numbers : {w.all().data(), g.all().data()})
      for (float& x : numbers) x = static_cast<float>(random.uniform() - 0.5);
  }
  UpdateTarget all() { return {w.all(), g.all(), s.all(), Elements(0), tensors}; }

  std::vector<Segment> tensors;
  Elements n;
  Arena w, g, s, copy;
};

struct Took {
  double wall_s;
  double cpu_s;  // of the compute thread
};

// The setting of a live node: the loop on this thread, the work on a compute thread. Rates count
// the compute thread's CPU time, because the machine may be shared.
struct Machine {
  LiveLoop loop;
  ComputeThread compute;
  LiveEnv env{loop, {.compute = &compute}};

  double cpu_s() {
    timespec t{};
    const auto look = [](Env& e, timespec& to) -> Task<void> {
      co_await e.work(Work::Forward, Elements(0),  // never inline
                      [&] { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to); });
    };
    run_task(loop, look(env, t));
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  Took run(Task<void> task) {
    const double cpu = cpu_s();
    const auto start = std::chrono::steady_clock::now();
    run_task(loop, std::move(task));
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    return {wall.count(), cpu_s() - cpu};
  }
};

Task<void> copy_once(Env& env, Range from, Range to) {
  co_await env.work(Work::Copy, from.n, [&] {
    std::memcpy(to.data().data(), from.data().data(), from.data().size_bytes());
  });
}

constexpr double kBatch = 48;
constexpr double kEta = 1e-3;

bool first_step_is_right(Machine& machine, const Rule& rule, Model& model) {
  const auto doubles = [](Arena& arena) {
    return std::vector<double>(arena.all().data().begin(), arena.all().data().end());
  };
  NaiveState expected{doubles(model.w), {}, {}};
  expected.a.resize(expected.w.size());
  expected.b.resize(expected.w.size());
  const std::vector<double> before = expected.w;
  const UpdateStep step{.eta = kEta, .t = 1, .samples = kBatch};
  naive_update(rule, step, expected, doubles(model.g), model.tensors);
  machine.run(update(machine.env, rule, step, model.all()));
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double off = std::abs(static_cast<double>(model.w.data()[i]) - expected.w[i]);
    if (!(off <= 1e-6 * (std::abs(before[i]) + std::abs(expected.w[i]) + kEta))) return false;
  }
  return true;
}

BenchRow bench_rule(Machine& machine, const Rule& rule, double scale, int repeats) {
  BenchRow row{
      .name = fmt::format("{}{}", to_string(rule.kind), rule.clip_norm > 0 ? ", clipped" : ""),
      .unit = "GB/s"};
  Model model(rule, perceptron(scale));
  row.verified = first_step_is_right(machine, rule, model);
  const double n = static_cast<double>(model.n.value());
  const double bytes = bytes_per_parameter(rule) * n;
  std::vector<double> ours, copies, times;
  for (int i = 0; i <= repeats; ++i) {
    const Took copying = machine.run(copy_once(machine.env, model.g.all(), model.copy.all()));
    const UpdateStep step{.eta = kEta, .t = static_cast<std::uint64_t>(i) + 2, .samples = kBatch};
    const Took updating = machine.run(update(machine.env, rule, step, model.all()));
    if (i == 0) continue;  // the first pass touches its pages for the first time
    copies.push_back(8 * n / copying.cpu_s * 1e-9);
    ours.push_back(bytes / updating.cpu_s * 1e-9);
    times.push_back(updating.wall_s * 1e3);
  }
  row.ours = median(ours);
  row.peers["memcpy"] = median(copies);
  row.target = 0.8 * row.peers["memcpy"];
  row.note = fmt::format(
      "{:.1f} M parameters, {} bytes each in {} pass{}, {:.2f} ms on the wall, median of {}",
      n * 1e-6, bytes_per_parameter(rule), rounds(rule) + 1, rounds(rule) > 0 ? "es" : "",
      median(times), repeats);
  return row;
}

}  // namespace

std::vector<BenchRow> bench_optim(double scale, int repeats) {
  Machine machine;
  std::vector<BenchRow> rows;
  for (std::size_t i = 0; i < kRuleKinds; ++i) {
    Rule rule = default_rule(static_cast<RuleKind>(i));
    rows.push_back(bench_rule(machine, rule, scale, repeats));
    if (rule.kind != RuleKind::Adam) continue;
    rule.clip_norm = 1e-4;
    rows.push_back(bench_rule(machine, rule, scale, repeats));
  }
  return rows;
}

}  // namespace shoal
