// Start here: four workers train one model synchronously. First they run in the simulator, where
// one of them is killed, then for real, in threads of this process. The program of a worker is the
// same in both cases, because it reaches the world only through its Node.
//
//   build/release/bin/example_01_sync_sgd
//
// It also runs as several processes, any of which may be killed:
//
//   build/release/bin/shoal launch -n 4 --restart 10 -- build/release/bin/example_01_sync_sgd
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "launch/process.h"
#include "learner/quadratic.h"
#include "runtime/live/posix_files.h"
#include "sim/world.h"
#include "sync/sync.h"
#include "train/folder_checkpoint_store.h"
#include "transport/inproc_world.h"

using namespace shoal;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kWorkers = 4;
constexpr Seed kSeed{2026};

// The final parameters of the workers, by node.
struct Results {
  std::mutex mutex;
  std::map<NodeId, std::vector<float>> parameters;
};

// The program of one worker: a learner, a replica of the model, and synchronous SGD, which is in
// src/sync/sync.cc.
Task<void> worker(Node& node, Results& results) {
  QuadraticLearner learner({.seed = kSeed, .dimensions = Elements(1000), .condition = 20});
  TrainingTask task;
  task.samples = 1024;     // an epoch; each is dealt to one worker
  task.global_batch = 32;  // of all workers together
  task.steps = Step(200);
  task.eta = 0.5;
  const InStep recipe;  // the defaults: an all-reduce, whose buckets leave as backward makes them
  Replica replica(node.endpoint, learner, Ledger(kSeed, task.samples));
  FolderCheckpointStore checkpoints(node, "checkpoint", learner.layout());
  co_await sync_worker(node, learner, checkpoints, replica, task, recipe);

  const std::span<const float> w = replica.w().data();
  const std::lock_guard lock(results.mutex);
  results.parameters[node.id].assign(w.begin(), w.end());
  if (node.id == NodeId(0)) fmt::print("  loss at the end {:.5f}\n", learner.loss(w));
}

std::map<NodeId, std::vector<float>> simulate(bool kill_one) {
  Cluster cluster = Cluster::uniform(kWorkers, {.latency = 20us, .bytes_per_s = 125e6});
  cluster.ns_per_element.fill(1);  // the cost of a pass over one element, in ns
  World world(cluster, {.seed = kSeed});
  if (kill_one) {
    world.at(Time(10ms), [&] { world.kill(NodeId(2), false); });
    world.restart_at(NodeId(2), Time(25ms));
  }
  Results results;
  const Outcome outcome = world.run([&](Node& node) { return worker(node, results); });
  fmt::print("  {} messages, {:.1f} virtual ms, all done: {}\n", outcome.messages,
             seconds(outcome.end) * 1e3, outcome.finished);
  if (!outcome.finished) results.parameters.clear();
  return results.parameters;
}

std::map<NodeId, std::vector<float>> train_for_real() {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("shoal-example-{}", ::getpid());
  Results results;
  InprocWorld world({.nodes = kWorkers, .loops = 2, .seed = kSeed},
                    [&](Env& env, NodeId) { return std::make_unique<PosixFiles>(env, folder); });
  world.run([&](Node& node) { return worker(node, results); });
  std::filesystem::remove_all(folder);
  return results.parameters;
}

// Runs as one process of several, as its environment says.
int train_as_rank(const Lookup& environment) {
  FromEnvironment job = process_from_environment(environment);
  job.options.seed = kSeed;
  job.options.folder = std::filesystem::temp_directory_path() / ("shoal-" + job.options.place.job);
  Results results;
  Process process(job.options);
  process.run([&](Node& node) { return worker(node, results); });
  fmt::print("rank {} is done, with {} parameters\n", job.options.place.rank,
             results.parameters.begin()->second.size());
  return 0;
}

}  // namespace

int main() {
  const Lookup environment = environment_of_this_process();
  if (place_from_environment(environment).world > 1) return train_as_rank(environment);

  fmt::print("simulated, {} workers over 1 Gbit/s:\n", kWorkers);
  const auto simulated = simulate(false);
  fmt::print("simulated, worker 2 killed at 10 ms and back at 25 ms:\n");
  const auto survived = simulate(true);
  fmt::print("for real, between threads:\n");
  const auto real = train_for_real();

  if (real != simulated || survived.size() != kWorkers) {
    fmt::print("the two worlds differ, or a worker is missing\n");
    return 1;
  }
  fmt::print("{} workers, the same bits in both worlds; {} finished when one was killed\n",
             real.size(), survived.size());
}
