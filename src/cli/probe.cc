#include "cli/probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/parse.h"
#include "learner/torch_loader/torch_plugin.h"
#include "runtime/live/live_env.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 3;
constexpr std::chrono::milliseconds kRoundMin{150};  // and three steps

// Random samples of a given shape.
class NoiseSource final : public BatchSource {
 public:
  NoiseSource(SampleShape shape, std::uint64_t size) : shape_(std::move(shape)), size_(size) {}
  const SampleShape& shape() const override { return shape_; }
  std::uint64_t size() const override { return size_; }
  void fill(std::uint64_t /*epoch*/, std::span<const SampleId> samples,
            Batch& batch) const override {
    std::int64_t each = 1;
    for (const std::int64_t d : shape_.shape) each *= d;
    const std::size_t n = samples.size();
    const auto width = static_cast<std::size_t>(each);
    const auto classes = static_cast<std::size_t>(shape_.classes);
    batch = Batch();
    batch.n = n;
    Random random(Seed(1), Purpose::Noise, samples.empty() ? 0 : samples[0]);
    const auto draw = [&] { return static_cast<float>(random.uniform() - 0.5); };
    const auto symbol = [&] { return static_cast<std::int64_t>(random.below(classes)); };
    if (shape_.input == InputKind::Dense) {
      batch.dense.resize(n * width);
      std::ranges::generate(batch.dense, draw);
    } else if (shape_.input == InputKind::Tokens) {
      batch.tokens.resize(n * width);
      std::ranges::generate(batch.tokens, symbol);
    } else {
      for (std::size_t i = 0; i <= n; ++i) batch.offsets.push_back(static_cast<std::int64_t>(i));
      for (std::size_t i = 0; i < n; ++i)
        batch.indices.push_back(static_cast<std::int64_t>(random.below(width)));
      batch.weights.assign(n, 1.0F);
    }
    if (shape_.target == TargetKind::Values) {
      batch.values.resize(n * classes);
      std::ranges::generate(batch.values, draw);
    } else {
      batch.labels.resize(n * (shape_.target == TargetKind::Next ? width : 1));
      std::ranges::generate(batch.labels, symbol);
    }
  }

 private:
  SampleShape shape_;
  std::uint64_t size_;
};

struct Combination {
  int threads = 1;
  bool channels_last = false;
  std::unique_ptr<Learner> learner;
  std::unique_ptr<Arena> state, g;
  std::vector<double> rounds;  // seconds per step
};

Task<void> steps(LiveEnv& env, Combination& c, std::uint64_t batch, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    Portion portion;
    portion.step = Step(i);
    portion.samples.resize(batch);
    std::iota(portion.samples.begin(), portion.samples.end(), SampleId{0});
    Channel<Ready> ready;
    Score score;
    const GradientTarget target{c.g->all(), nullptr};
    co_await c.learner->gradient(env, c.state->all(), target, std::move(portion), ready, score);
  }
}

double measure(LiveLoop& loop, LiveEnv& env, Combination& c, std::uint64_t batch) {
  std::uint64_t made = 0;
  const Clock::time_point begin = Clock::now();
  do {
    run_task(loop, steps(env, c, batch, 3));
    made += 3;
  } while (Clock::now() - begin < kRoundMin);
  return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(made);
}

struct ProbeFlags {
  std::string model, shape, threads = "1", formats = "both";
  std::uint64_t batch = 64;
};

ExitCode run_probe(const ProbeFlags& o) {
  const SampleShape shape = shape_from_words(o.shape);
  const TorchPlugin torch =
      TorchPlugin::load(plugin_directories(std::filesystem::read_symlink("/proc/self/exe")));
  const auto source = std::make_shared<NoiseSource>(shape, o.batch);
  const bool images = shape.input == InputKind::Dense && shape.shape.size() == 3;
  std::vector<bool> formats;
  if (o.formats != "channels-last") formats.push_back(false);
  if (o.formats == "channels-last" || (o.formats == "both" && images)) formats.push_back(true);

  LiveLoop loop;
  ComputeThread compute;
  LiveEnv env(loop, {.compute = &compute});
  std::vector<Combination> all;
  for (const int threads : require_numbers<int>(
           "--threads", o.threads, "whole numbers from 1 on, as 1,2,4", {.least = 1})) {
    for (const bool channels_last : formats) {
      Combination c;
      c.threads = threads;
      c.channels_last = channels_last;
      TorchTask task;
      task.model = o.model;
      task.train = source;
      task.options.channels_last = channels_last;
      c.learner = torch.make_learner(task);
      c.state = std::make_unique<Arena>(c.learner->layout().all(), Substance::Real);
      c.g = std::make_unique<Arena>(c.learner->layout().parameters(), Substance::Real);
      c.learner->initialize(c.state->all());
      all.push_back(std::move(c));
    }
  }
  for (int round = -1; round < kRounds; ++round) {  // the first one warms up
    for (Combination& c : all) {
      torch.set_compute({.threads = c.threads});
      const double seconds = measure(loop, env, c, o.batch);
      if (round >= 0) c.rounds.push_back(seconds);
    }
  }
  for (const Combination& c : all)
    fmt::print("probed {} {} {:.6f}\n", c.threads, c.channels_last ? 1 : 0,
               *std::ranges::min_element(c.rounds));
  return ExitCode::kOk;
}

}  // namespace

std::string to_words(const SampleShape& shape) {
  std::string words = fmt::format("{} {} {}", static_cast<int>(shape.input),
                                  static_cast<int>(shape.target), shape.classes);
  for (const std::int64_t d : shape.shape) words += fmt::format(" {}", d);
  return words;
}

SampleShape shape_from_words(const std::string& words) {
  std::istringstream in(words);
  int input = 0, target = 0;
  SampleShape shape;
  in >> input >> target >> shape.classes;
  for (std::int64_t d = 0; in >> d;) shape.shape.push_back(d);
  const bool right = in.eof() && input >= 0 && input <= 2 && target >= 0 && target <= 2 &&
                     shape.classes > 0 && !shape.shape.empty();
  if (!right) throw ConfigError(fmt::format("--shape '{}' is not a shape of samples", words));
  shape.input = static_cast<InputKind>(input);
  shape.target = static_cast<TargetKind>(target);
  return shape;
}

Command probe_command() {
  auto o = std::make_shared<ProbeFlags>();
  return {.name = "probe",
          .summary = "measure the step time of a model by threads and memory format",
          .options = {{"--model", "as for train", &o->model, true},
                      {"--shape", "shape of the samples, in numbers", &o->shape, true},
                      {"--batch", "samples a step", &o->batch},
                      {"--threads", "a list: 1,2", &o->threads},
                      {"--formats", "both, contiguous or channels-last", &o->formats}},
          .run = [o] { return run_probe(*o); }};
}

}  // namespace shoal
