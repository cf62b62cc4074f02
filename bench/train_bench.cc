#include "bench/train_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "app/scratch_folder.h"
#include "base/error.h"
#include "base/nearest.h"
#include "bench/command.h"
#include "bench/even_cores.h"
#include "bench/run_files.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kBatch = 64;
constexpr int kWarmup = 3;         // steps that do not count
constexpr int kStepsMin = 12;      // per round; in fewer steps a large model's loss may not fall
constexpr int kFirstLook = 8;      // steps of the run that decides the length of a round
constexpr double kRoundS = 2;      // seconds of training
constexpr double kAsideS = 0.7;    // allowed difference of independent processes' start and end
constexpr int kTimes = 32;         // more images for several workers: no epoch ends in a round
constexpr double kSlack = 0x1p26;  // 64 MiB for libtorch and the run itself
constexpr double kSlots = 1;       // the optimizer's: momentum
// Flags that are compared with the defaults for several workers: each changes how a run reacts to
// cores whose speed changes.
struct Beside {
  const char* flags;
  bool spare;  // has no effect unless there are spare cores
};
constexpr Beside kBeside[] = {
    {"--wait-mode block", false}, {"--cores keep", true}, {"--balance auto", false}};

struct Model {
  const char* name;
  const char* data;  // the flag's value, {}: the folder with the data
  double eta;
  // Targets, as multiples of the peer's rate; 0: none.
  double shipped;     // PyTorch as shipped
  double same;        // PyTorch with the BLAS kernels that we chose
  double ddp;         // DistributedDataParallel, with several workers
  double apart;       // independent workers
  double barrier;     // workers with only a barrier per step
  bool late = false;  // the loss does not fall within a round, with ours and the peer's alike
};
constexpr Model kModels[] = {
    {"lenet", "idx:{}/idx", 0.02, 1.1, 1, 1.2, 0.95, 0.98},
    {"mlp:784-2048-2048-10", "idx:{}/idx", 0.02, 1.1, 1, 1.45, 0.9, 0.96},
    {"alexnet", "cifar10:{}/cifar", 0.02, 0.97, 0.97, 1, 0, 0, true},
    {"vgg:11", "cifar10:{}/cifar", 0.02, 0.97, 0.97, 1, 0, 0},
    {"resnet:20", "cifar10:{}/cifar", 0.05, 0.97, 0.97, 1, 0, 0},
    {"resnet:18", "cifar10:{}/cifar", 0.02, 0.97, 0.97, 1, 0, 0},
    {"lstm", "text:{}/text", 0.5, 0.97, 0.97, 1, 0, 0},
    {"gru", "text:{}/text", 0.5, 0.97, 0.97, 1, 0, 0},
    {"transformer", "text:{}/text", 0.05, 0.97, 0.97, 1, 0, 0},
    {"autoencoder", "idx:{}/idx", 0.5, 0.97, 0.97, 1, 0, 0},
    {"linear", "idx:{}/idx", 0.001, 0.97, 0.97, 1, 0, 0},
};

// Steps of a run: measured ones, and others before and after.
struct Round {
  int steps = 0;
  int before = kWarmup;
  int after = 0;
  int all() const { return before + steps + after; }
};

// One run of one program; the peer has no gradient_s.
struct Trained : RunSteps {
  double parameters = 0;
  double memory = 0;       // bytes by which the peak grew; ours only
  double activations = 0;  // bytes that a forward pass keeps; the peer's only
  std::string blas{};      // ours only; empty: OpenBLAS's own choice
  double kept = 0;         // independent workers: their rate if they waited in every step
};

bool verified(const Model& model, const RunSteps& run) {
  return run.learned() || (model.late && run.stood());
}

std::string data_of(const Model& model, const ScratchFolder& scratch) {
  std::string data = model.data;
  return data.replace(data.find("{}"), 2, scratch.path());
}

class TrainBench {
 public:
  explicit TrainBench(const TrainBenchOptions& options) : options_(options) {
    const Finished made = run_command(
        fmt::format("{} make {} {}", python(), scratch_.path(), options.workers > 1 ? kTimes : 1));
    if (made.status != 0)
      throw ConfigError(
          fmt::format("bench train: python3 with torch could not make the data:\n{}\n"
                      "Hint: apt-get install python3-torch",
                      made.output.substr(0, 1000)));
  }

  void measure(const Model& model, int threads, std::vector<BenchRow>& rows) const;
  void measure_workers(const Model& model, int threads, std::vector<BenchRow>& rows) const;

 private:
  std::string python() const {
    return fmt::format("{} -B {}/pytorch_train.py", options_.python, SHOAL_BENCH_PEERS);
  }
  std::string command_of(const Model& model, int threads, const Round& round, const fs::path& out,
                         const std::string& flags) const;
  Trained read_run(const fs::path& out, const Round& round) const;
  Round round_of(const Trained& look) const;
  bool another_round(int made, Clock::time_point begin) const;
  Trained ours(const Model& model, int threads, const Round& round,
               const std::string& flags = "") const;
  Trained apart(const Model& model, int threads, const Round& round) const;
  Trained ddp(const Model& model, int threads, const Round& round) const;
  static Trained read_peer(const Finished& finished, const std::string& command);
  Trained theirs(const Model& model, int threads, const Round& round,
                 const std::string& blas) const;

  const TrainBenchOptions& options_;
  ScratchFolder scratch_{"bench"};
};

std::string TrainBench::command_of(const Model& model, int threads, const Round& round,
                                   const fs::path& out, const std::string& flags) const {
  // Probe results are kept for later rounds, in a cache of their own.
  return fmt::format(
      "XDG_CACHE_HOME={} {} train --model {} --data {} --batch {} --steps {} --optimizer momentum "
      "--lr {} --schedule constant --threads {} --save-every 1000000 --quiet --out {}{} {}",
      scratch_.path(), options_.shoal, model.name, data_of(model, scratch_), kBatch, round.all(),
      model.eta, threads, out.string(), options_.tune ? "" : " --no-tune", flags);
}

Trained TrainBench::read_run(const fs::path& out, const Round& round) const {
  Trained result{read_steps(out, static_cast<std::size_t>(round.before),
                            static_cast<std::size_t>(round.after))};
  const std::string summary = content_of(out / "summary.json");
  result.parameters = field(summary, "parameters");
  result.memory = field(summary, "memory_peak") - field(summary, "memory_before");
  // "1 thread, ZEN OpenBLAS kernels, contiguous"
  const std::size_t end = summary.find(" OpenBLAS kernels");
  const std::size_t begin = summary.rfind(' ', end - 1) + 1;
  result.blas = summary.substr(begin, end - begin);
  if (result.blas == "default") result.blas.clear();
  return result;
}

// The steps of a first look are still slow.
double quickest(const Trained& look) { return *std::ranges::min_element(look.each_s); }

Round TrainBench::round_of(const Trained& look) const {
  const int steps = static_cast<int>(kRoundS * options_.scale / quickest(look));
  return {.steps = std::clamp(steps, kStepsMin, 400)};
}

bool TrainBench::another_round(int made, Clock::time_point begin) const {
  const std::chrono::duration<double> took = Clock::now() - begin;
  const bool late = options_.within_s > 0 && took.count() > options_.within_s;
  return made == 0 || (made < options_.rounds && !late);
}

Trained TrainBench::ours(const Model& model, int threads, const Round& round,
                         const std::string& flags) const {
  const fs::path out = scratch_ / "run";
  fs::remove_all(out);
  const std::string command = command_of(model, threads, round, out, flags);
  require_success(command, run_command(command));
  return read_run(out, round);
}

// All workers at the same time, independently; returns their total rate.
Trained TrainBench::apart(const Model& model, int threads, const Round& round) const {
  std::string command;
  std::vector<fs::path> outs;
  for (int i = 0; i < options_.workers; ++i) {
    outs.push_back(scratch_ / fmt::format("apart-{}", i));
    fs::remove_all(outs.back());
    command += fmt::format("{{ {}; }} & ", command_of(model, threads, round, outs.back(), ""));
  }
  command += "wait";
  require_success(command, run_command(command));
  Trained result;
  double steps_per_s = 0;
  Pieces steps;
  for (const fs::path& out : outs) {
    result = read_run(out, round);
    steps_per_s += 1 / result.mean_s;
    steps.push_back(result.each_s);
  }
  result.mean_s = options_.workers / steps_per_s;
  result.kept = kept_if_met(steps);
  return result;
}

Trained TrainBench::ddp(const Model& model, int threads, const Round& round) const {
  const fs::path store = scratch_ / "ddp-store";
  fs::remove(store);
  std::string command;
  for (int rank = 0; rank < options_.workers; ++rank)
    command += fmt::format(
        "env -u OPENBLAS_CORETYPE OMP_NUM_THREADS={1} OPENBLAS_NUM_THREADS={1} {0} ddp {2} {3} {4} "
        "{5} {1} {6} {7} {8} {9} & ",
        python(), threads, scratch_.path(), model.name, round.all(), round.before, model.eta, rank,
        options_.workers, store.string());
  return read_peer(run_command(command + "wait"), command);
}

Trained TrainBench::theirs(const Model& model, int threads, const Round& round,
                           const std::string& blas) const {
  const std::string command = fmt::format(
      "env -u OPENBLAS_CORETYPE {1} OMP_NUM_THREADS={2} OPENBLAS_NUM_THREADS={2} {0} train {3} {4} "
      "{5} {6} {2} {7}",
      python(), blas.empty() ? "" : "OPENBLAS_CORETYPE=" + blas, threads, scratch_.path(),
      model.name, round.all(), round.before, model.eta);
  return read_peer(run_command(command), command);
}

Trained TrainBench::read_peer(const Finished& finished, const std::string& command) {
  Trained result;
  result.step_s = number_after(finished, "step_s ", 0, command);
  result.mean_s = number_after(finished, "mean_s ", 0, command);
  result.first_loss = number_after(finished, "first_loss ", 0, command);
  result.last_loss = number_after(finished, "last_loss ", 0, command);
  result.parameters = number_after(finished, "parameters ", 0, command);
  result.activations = number_after(finished, "activations ", 0, command);
  return result;
}

// How many times faster the first are than the others: the median of the rounds' ratios. A round
// measures both within a short time, so that a temporary slowdown of the machine affects both.
double times(const std::vector<double>& rates, const std::vector<double>& others) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rates.size(); ++i) ratios.push_back(rates[i] / others[i]);
  return median(ratios);
}

void TrainBench::measure(const Model& model, int threads, std::vector<BenchRow>& rows) const {
  BenchRow row{.name = fmt::format("{}, {} thread{}", model.name, threads, threads == 1 ? "" : "s"),
               .unit = "samples/s"};
  const Clock::time_point begin = Clock::now();
  const Trained look = ours(model, threads, {.steps = kFirstLook});
  const Round round = round_of(look);
  const bool with_peer = options_.peer == "pytorch";
  std::vector<double> own, gradient, shipped, same;
  double memory = 0, activations = 0;
  row.verified = true;
  const auto check = [&](const Trained& t) {
    row.verified = row.verified && verified(model, t) && t.parameters == look.parameters;
    return kBatch / t.step_s;
  };
  for (int i = 0; another_round(i, begin); ++i) {
    const Trained mine = ours(model, threads, round);
    own.push_back(check(mine));
    gradient.push_back(mine.gradient_s / mine.step_s);
    memory = std::max(memory, mine.memory);
    if (!with_peer) continue;
    const Trained peer = theirs(model, threads, round, "");
    shipped.push_back(check(peer));
    activations = peer.activations;
    if (!look.blas.empty()) same.push_back(check(theirs(model, threads, round, look.blas)));
  }
  row.ours = median(own);
  row.note = fmt::format("{:.2f} ms per step, {:.1f} % of it for the gradient",
                         1e3 * kBatch / row.ours, 100 * median(gradient));
  const auto add = [&](const std::string& peer, const std::vector<double>& rates, double least) {
    if (rates.empty()) return;
    row.peers[peer] = median(rates);
    row.target = std::max(row.target, least * row.ours / times(own, rates));
    row.note += fmt::format("; {:.3f} times {}", times(own, rates), peer);
  };
  add("pytorch", shipped, model.shipped);
  add(fmt::format("pytorch, {} kernels", look.blas), same, model.same);
  rows.push_back(row);
  rows.push_back({.name = row.name + ": memory",
                  .ours = memory / 0x1p20,
                  .unit = "MiB",
                  .target = (look.parameters * 4 * (2 + kSlots) + activations + kSlack) / 0x1p20,
                  .higher_is_better = false,
                  .verified = memory > 0,
                  .note = fmt::format("growth of the peak since before the model was made; "
                                      "{:.1f} MiB of the target are the activations that the "
                                      "peer's autograd keeps",
                                      activations / 0x1p20)});
}

void TrainBench::measure_workers(const Model& model, int threads,
                                 std::vector<BenchRow>& rows) const {
  const int P = options_.workers;
  const std::string name =
      fmt::format("{}, {} workers of {} thread{}", model.name, P, threads, threads == 1 ? "" : "s");
  BenchRow row{.name = name, .unit = "samples/s", .verified = true};
  const std::string several = fmt::format("--workers {}", P);
  const Clock::time_point begin = Clock::now();
  const Trained look = ours(model, threads, {.steps = kFirstLook}, several);
  Round round = round_of(look);
  round.before += static_cast<int>(std::ceil(kAsideS / quickest(look)));
  Round apart_round = round;
  apart_round.after = round.before;
  const auto check = [&](const Trained& t) {
    row.verified = row.verified && verified(model, t) && t.parameters == look.parameters;
    return P * kBatch / t.mean_s;
  };
  std::vector<double> own, one, alone, kept, cores, meeting, peer;
  std::map<std::string, std::vector<double>> beside;
  std::vector<std::pair<std::vector<double>*, std::function<double()>>> turns = {
      {&alone,
       [&] {
         const Trained t = apart(model, threads, apart_round);
         kept.push_back(t.kept);
         return check(t);
       }},
      {&cores, [&] { return kept_if_met(pieces_of_arithmetic(P, quickest(look))); }},
      {&own, [&] { return check(ours(model, threads, round, several)); }},
      {&meeting, [&] { return check(ours(model, threads, round, several + " --update apart")); }},
      {&one, [&] { return check(ours(model, threads, round)) / P; }}};
  const int spare = static_cast<int>(std::thread::hardware_concurrency()) - P * threads;
  for (const Beside& other : kBeside)
    if (spare > 0 || (spare == 0 && !other.spare))
      turns.emplace_back(&beside[other.flags], [&] {
        return check(ours(model, threads, round, fmt::format("{} {}", several, other.flags)));
      });
  if (options_.peer == "pytorch")
    turns.emplace_back(&peer, [&] { return check(ddp(model, threads, round)); });
  for (int i = 0; another_round(i, begin); ++i) {
    for (const auto& [rates, measure_one] : turns) rates->push_back(measure_one());
    std::ranges::reverse(turns);
  }
  row.ours = median(own);
  row.note =
      fmt::format("{} round{}; {:.2f} ms per step; {:.1f} % of {} times one worker alone ({:.0f})",
                  own.size(), own.size() == 1 ? "" : "s", 1e3 * P * kBatch / row.ours,
                  100 * times(own, one) / P, P, median(one));
  if (!peer.empty()) {
    row.peers["pytorch ddp"] = median(peer);
    row.target = model.ddp * row.ours / times(own, peer);
    row.note += fmt::format("; {:.3f} times pytorch ddp, which has {:.1f} %", times(own, peer),
                            100 * times(peer, one) / P);
  }
  rows.push_back(row);
  const auto part = [&](const std::string& what, double of_one, double target,
                        const std::string& note) {
    rows.push_back({.name = fmt::format("{}: {}", name, what),
                    .ours = 100 * of_one,
                    .unit = "%",
                    .target = 100 * target,
                    .verified = row.verified,
                    .note = note});
  };
  const auto they = [](const std::vector<double>& rates) {
    return fmt::format("these make {:.0f} samples/s", median(rates));
  };
  part("relative to independent workers", times(own, alone), model.apart, they(alone));
  part("relative to workers with only a barrier per step", times(own, meeting), model.barrier,
       they(meeting));
  // The rate that the machine allows any workers that wait for each other in every step.
  part("independent workers, if each step took as long as the slowest one", median(kept), 0,
       fmt::format("of their own rate; with only a barrier {:.1f} %", 100 * times(meeting, alone)));
  part("threads of register arithmetic, likewise", median(cores), 0,
       fmt::format("{} of them, pieces of {:.0f} ms", P, 1e3 * quickest(look)));
  for (const auto& [flags, rates] : beside)
    part(fmt::format("relative to the same with `{}`", flags), times(own, rates), 0, they(rates));
}

const Model& find(const std::string& name) {
  std::vector<std::string> known;
  for (const Model& model : kModels) {
    if (name == model.name) return model;
    known.emplace_back(model.name);
  }
  throw ConfigError(
      fmt::format("--models {}: this benchmark does not have it. {}", name, suggest(name, known)));
}

}  // namespace

std::vector<BenchRow> bench_train(const TrainBenchOptions& options) {
  if (options.peer != "pytorch" && options.peer != "none")
    throw ConfigError(fmt::format("--peer {}: the choices are pytorch and none", options.peer));
  std::vector<Model> models;
  for (const std::string& name : options.models) models.push_back(find(name));
  if (models.empty()) models.assign(std::begin(kModels), std::end(kModels));
  const TrainBench bench(options);
  std::vector<BenchRow> rows;
  for (const Model& model : models)
    for (const int threads : options.threads)
      options.workers == 1 ? bench.measure(model, threads, rows)
                           : bench.measure_workers(model, threads, rows);
  return rows;
}

}  // namespace shoal
