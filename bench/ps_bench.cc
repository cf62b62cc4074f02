#include "bench/ps_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <thread>
#include <utility>

#include "app/scratch_folder.h"
#include "base/error.h"
#include "bench/command.h"
#include "bench/ps_rank.h"
#include "bench/run_files.h"
#include "learner/phantom.h"
#include "train/simulation.h"

namespace shoal {

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t kServers = 4;
// Targets: the time of a push and a pull in all-reduces of as many parameters; and of a step in
// steps.
constexpr double kRoundsOfAllReduce = 2;
constexpr double kStepsOfAllReduce = 1.3;
constexpr double kTimesOneServer = 3;
constexpr int kSteps = 60;  // of a training run
constexpr std::size_t kWarmup = 3;

double ratio(const std::vector<double>& some, const std::vector<double>& others) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < some.size(); ++i) ratios.push_back(some[i] / others[i]);
  return median(ratios);
}

// One of the measurements that take turns, so that other load on the machine affects all alike.
struct Turn {
  std::function<double()> measure;
  std::vector<double> figures{};
};

template <std::size_t n>
void take_turns(std::array<Turn, n>& turns, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < n; ++i) {
      Turn& turn = turns[round % 2 == 0 ? i : n - 1 - i];
      turn.figures.push_back(turn.measure());
    }
}

// ---- A push and a pull, compared with an all-reduce

double push_and_pull_us(const PsBenchOptions& o, const std::string& consistency,
                        std::uint32_t servers) {
  const std::string command = fmt::format(
      "{0} launch -n {1} --no-tag -- {0} bench ps-rank --servers {2} --bytes {3} --consistency {4}",
      o.shoal, kPsWorkers + servers, servers, o.bytes, consistency);
  return number_after(run_command(command), fmt::format("result {} {} ", consistency, o.bytes), 0,
                      command);
}

double all_reduce_us(const PsBenchOptions& o) {
  const std::string command =
      fmt::format("{0} launch -n {1} --no-tag -- {0} bench collective-rank --procs {1} --bytes {2}",
                  o.shoal, kPsWorkers, o.bytes);
  return number_after(run_command(command), fmt::format("result copied {} ", o.bytes), 0, command);
}

void one_host(const PsBenchOptions& o, std::vector<BenchRow>& rows) {
  const std::array<std::string, 2> ways = {"synchronous", "async"};
  std::array<Turn, 3> turns = {Turn{[&] { return all_reduce_us(o); }},
                               Turn{[&] { return push_and_pull_us(o, ways[0], 1); }},
                               Turn{[&] { return push_and_pull_us(o, ways[1], 1); }}};
  take_turns(turns, o.rounds);
  for (std::size_t i = 0; i < ways.size(); ++i) {
    BenchRow row{.name = fmt::format("push + pull, {} MiB, {}", o.bytes >> 20U, ways[i]),
                 .ours = median(turns[i + 1].figures),
                 .unit = "us",
                 .higher_is_better = false,
                 .verified = true};  // a worker with other parameters fails
    row.peers["our all-reduce"] = median(turns[0].figures);
    const double times = ratio(turns[i + 1].figures, turns[0].figures);
    row.target = kRoundsOfAllReduce * row.ours / times;
    row.note = fmt::format("by each of {} workers, 1 server; {:.2f} times an all-reduce of as many",
                           kPsWorkers, times);
    rows.push_back(row);
  }
}

// ---- Several servers, compared with one server

Recipe asynchronous(std::uint32_t servers) {
  return Served{.ps = {.consistency = consistency::Async{}, .servers = servers}};
}

// All workers' pushes in a second of virtual time: eight workers, with a host and 10 Gbit/s each.
double simulated_rate(const Recipe& recipe, bool& right) {
  constexpr std::uint32_t kWorkers = 8;
  constexpr std::uint64_t kPushes = 50 * kWorkers;
  TrainPlan plan;
  plan.samples = kPushes;
  plan.workers = kWorkers;
  plan.batch = 1;
  plan.epochs = 1;
  plan.steps = Step(kPushes);
  plan.evaluate = false;
  plan.recipe = recipe;
  const std::uint32_t servers = servers_of(recipe);
  // 64 MiB; a gradient takes 2 ms.
  PhantomLearner learner(
      {{"all", Elements(std::uint64_t{1} << 24U), Elements(1'000'000), Elements(1'000'000)}});
  Simulation simulation;
  simulation.cluster =
      Cluster::uniform(kWorkers + servers, {.latency = 20us, .bytes_per_s = 1.25e9});
  simulation.cluster.timing_only = true;
  simulation.cluster.ns_per_element[static_cast<std::size_t>(Work::Forward)] = 1;
  simulation.cluster.ns_per_element[static_cast<std::size_t>(Work::Backward)] = 1;
  simulation.cluster.ns_per_element[static_cast<std::size_t>(Work::Update)] = 0.7;
  simulation.cluster.ns_per_element[static_cast<std::size_t>(Work::Copy)] = 0.5;
  for (std::uint32_t i = 0; i < servers; ++i)
    simulation.cluster.nodes[kWorkers + i].role = Role::Server;
  simulation.journal.quiet = true;
  const SimulationResult result = simulate(plan, learner, simulation, [](const auto&, auto) {});
  const Summary& s = result.train.summary;
  right = right && result.outcome.finished && result.outcome.errors.empty() &&
          s.ledger.consumed == kPushes;
  return static_cast<double>(kPushes) / s.wall_s;
}

void more_servers(const PsBenchOptions& o, std::vector<BenchRow>& rows) {
  BenchRow row{
      .name = fmt::format("{} servers, simulated", kServers), .unit = "pushes/s", .verified = true};
  const double one = simulated_rate(asynchronous(1), row.verified);
  row.ours = simulated_rate(asynchronous(kServers), row.verified);
  row.peers["1 server"] = one;
  row.target = kTimesOneServer * one;
  row.note = fmt::format("8 workers, 64 MiB, 10 Gbit/s each; {:.2f} times one", row.ours / one);
  rows.push_back(row);

  // Only if each process has a core.
  if (std::thread::hardware_concurrency() < kServers + kPsWorkers) return;
  const auto rate = [&](std::uint32_t servers) {
    return kPsWorkers * 1e6 / push_and_pull_us(o, "async", servers);
  };
  std::array<Turn, 2> turns = {Turn{[&] { return rate(1); }}, Turn{[&] { return rate(kServers); }}};
  take_turns(turns, o.rounds);
  BenchRow live{.name = fmt::format("{} servers, live", kServers),
                .ours = median(turns[1].figures),
                .unit = "pushes/s",
                .verified = true};
  live.peers["1 server"] = median(turns[0].figures);
  live.note = fmt::format("{} workers, {} MiB, one host; {:.2f} times one", kPsWorkers,
                          o.bytes >> 20U, ratio(turns[1].figures, turns[0].figures));
  rows.push_back(live);
}

// ---- A step of LeNet, compared with one with an all-reduce

void training_step(const PsBenchOptions& o, std::vector<BenchRow>& rows) {
  const ScratchFolder scratch("bench");
  BenchRow row{.name = "LeNet, a synchronous step",
               .unit = "ms",
               .higher_is_better = false,
               .verified = true};
  const int steps = static_cast<int>(kWarmup) + std::max(5, static_cast<int>(kSteps * o.scale));
  const auto step_ms = [&](const std::string& flags) {
    const std::filesystem::path out = scratch / "run";
    std::filesystem::remove_all(out);
    const std::string command = fmt::format(
        "{} train --model lenet --data synthetic:images,n=8192,test=0 --batch 64 --steps {} "
        "--optimizer momentum --lr 0.02 --schedule constant --workers {} --threads 1 --no-tune "
        "--quiet --out {} {}",
        o.shoal, steps, kPsWorkers, out.string(), flags);
    require_success(command, run_command(command));
    const RunSteps run = read_steps(out, kWarmup);
    row.verified = row.verified && run.learned();
    return 1e3 * run.step_s;
  };
  std::array<Turn, 2> turns = {Turn{[&] { return step_ms("--like shoal"); }},
                               Turn{[&] { return step_ms("--update servers"); }}};
  take_turns(turns, o.rounds);
  row.ours = median(turns[1].figures);
  row.peers["--like shoal"] = median(turns[0].figures);
  const double times = ratio(turns[1].figures, turns[0].figures);
  row.target = kStepsOfAllReduce * row.ours / times;
  row.note = fmt::format("{} workers of 1 thread, a server in each; {:.3f} times the all-reduce's",
                         kPsWorkers, times);
  rows.push_back(row);
}

}  // namespace

std::vector<BenchRow> bench_ps(const PsBenchOptions& options) {
  std::vector<BenchRow> rows;
  one_host(options, rows);
  more_servers(options, rows);
  training_step(options, rows);
  return rows;
}

}  // namespace shoal
