#include "bench/ps_rank.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "bench/settle.h"
#include "launch/process.h"
#include "ps/served.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

constexpr std::uint64_t kBytesOfARun = std::uint64_t{2} << 30U;
constexpr std::uint64_t kWarmUp = 4;  // steps before the clock starts
constexpr std::uint64_t kPeriod = 1000;

// Whole numbers, so that sums are exact in any order.
float coded(std::uint64_t i) { return static_cast<float>(i % kPeriod + 1); }

std::uint64_t steps_of(std::uint64_t bytes) {
  return kWarmUp +
         std::clamp<std::uint64_t>(kBytesOfARun / std::max<std::uint64_t>(bytes, 1), 8, 2000);
}

// A learner with a constant gradient, written once; worker r has r + 1 times that of worker 0.
class Constant final : public Learner {
 public:
  Constant(Elements n, NodeId worker) : layout_(Layout::plain(n)), times_(worker.value() + 1) {}
  const Layout& layout() const override { return layout_; }
  Substance substance() const override { return Substance::Real; }
  void initialize(Range state) const override { std::ranges::fill(state.data(), 0.0F); }
  Task<void> gradient(Env& env, Range, GradientTarget target, Portion portion,
                      Channel<Ready>& ready, Score& score) override {
    const std::span<float> g = target.g.data();
    const SliceWork write = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i) g[i] = static_cast<float>(times_) * coded(i);
    };
    if (!std::exchange(written_, true)) {
      co_await in_slices(env, Work::Backward, g.size(), false, Order::Forward, 1, write);
      co_await settle(env, g.size_bytes());
    }
    score.samples += portion.samples.size();
    ready.push({0, Elements(0), Elements(g.size())});
    ready.close();
  }
  Task<Score> evaluate(Env&, Range, std::uint64_t, std::uint64_t) override { co_return Score(); }

 private:
  Layout layout_;
  std::uint64_t times_;
  bool written_ = false;
};

class Stopwatch final : public Journal {
 public:
  explicit Stopwatch(Env& env) : env_(env) {}
  Task<void> step_done(StepReport report) override {
    end_ = env_.now();
    if (steps_ >= kWarmUp) samples_ += report.samples;
    if (++steps_ == kWarmUp) begin_ = end_;
    co_return;
  }
  Task<void> evaluated(EvaluationReport) override { co_return; }
  void saved(Step) override {}
  Ending leave() override { return Ending::No; }

  std::uint64_t steps() const { return steps_; }
  // The time in which each worker has pushed once.
  double us_per_round() const {
    return 1e6 * seconds(end_ - begin_) * kPsWorkers / static_cast<double>(samples_);
  }

 private:
  Env& env_;
  Time begin_{}, end_{};
  std::uint64_t steps_ = 0;    // of this worker
  std::uint64_t samples_ = 0;  // of all workers, one per push
};

class NoCheckpointStore final : public CheckpointStore {
 public:
  Task<void> save(Replica&) override { co_return; }
  Task<bool> load(Replica&) override { co_return false; }
};

// Checks that each push has subtracted its worker's gradient from the parameters exactly once.
Task<void> verify(Env& env, std::span<const float> w, std::uint64_t own, std::uint64_t times,
                  std::uint64_t pushes) {
  const std::uint64_t others = kPsWorkers * (kPsWorkers + 1) / 2 - times;
  const std::uint64_t all = own * times + (pushes - own) * others;
  const SliceWork check = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
      if (w[i] != -static_cast<float>(all) * coded(i))
        throw Error(fmt::format("parameter {} is {} and not {}", i, w[i],
                                -static_cast<float>(all) * coded(i)));
  };
  co_await in_slices(env, Work::Copy, w.size(), false, Order::Forward, 1, check);
}

Task<void> measure(Node& node, const PsRankOptions& o) {
  const std::uint64_t pushes = kPsWorkers * steps_of(o.bytes);
  Constant learner(Elements(o.bytes / sizeof(float)), node.id);
  NoCheckpointStore checkpoints;
  Stopwatch stopwatch(node.env);
  TrainingTask task;
  task.samples = pushes;
  task.workers = kPsWorkers;
  task.batch = 1;
  task.epochs = 1;
  task.eta = 1;
  task.evaluate = false;
  Served recipe;
  recipe.ps.servers = o.servers;
  recipe.ps.consistency = parse_consistency(o.consistency);
  Replica replica(node.endpoint, learner, Ledger(Seed(1), task.samples));
  co_await served_node(node, learner, checkpoints, replica, task, recipe, &stopwatch, false);
  if (node.id.value() >= kPsWorkers) co_return;
  co_await verify(node.env, replica.parameters().data(), stopwatch.steps(), node.id.value() + 1,
                  pushes);
  if (node.id != NodeId(0)) co_return;
  fmt::print("result {} {} {:.6g}\n", o.consistency, o.bytes, stopwatch.us_per_round());
  std::fflush(stdout);
}

}  // namespace

void run_ps_rank(const PsRankOptions& options) {
  FromEnvironment env = process_from_environment(environment_of_this_process());
  env.options.transports = {"shm"};
  env.options.compute_thread = false;
  env.options.log = false;
  if (env.options.place.rank >= kPsWorkers) env.options.role = Role::Server;
  Process process(env.options);
  process.run([&](Node& node) { return measure(node, options); });
}

}  // namespace shoal
