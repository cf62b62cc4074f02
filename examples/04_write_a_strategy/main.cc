// A strategy of your own: one coroutine that every worker of a job runs. This one is local SGD
// (Zinkevich et al. 2010; McMahan et al. 2017): each worker trains alone for tau steps, then all
// average their models. docs/tutorial.md explains it line by line.
//
//   build/release/bin/example_04_write_a_strategy
#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "collective/exchange.h"
#include "learner/quadratic.h"
#include "optim/update.h"
#include "replica/replica.h"
#include "runtime/live/posix_files.h"
#include "runtime/slices.h"
#include "sim/world.h"
#include "transport/inproc_world.h"

using namespace shoal;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kWorkers = 4;
constexpr Seed kSeed{2026};
constexpr GroupId kGroup{40};  // for our messages: any number that no other strategy of the job
                               // uses
constexpr std::uint64_t kSteps = 200, kTau = 10, kBatch = 8;

// ---- The strategy

Task<void> local_sgd(Node& node, Learner& learner, Replica& replica) {
  const ViewPtr view = co_await node.membership.after(Generation(0));
  const Group group(node, kGroup, view);
  learner.initialize(replica.w());

  for (std::uint64_t t = 0; t < kSteps; ++t) {
    Share mine;  // all workers deal alike, so each knows its share and every sample counts once
    for (const Member& member : view->members) {
      const Share share = replica.ledger.deal(member.node, member.incarnation, kBatch);
      if (member.node == node.id) mine = share;
    }
    Channel<Ready> unheard;  // ignored; other strategies send the announced buckets early
    Score score;
    const GradientTarget g{replica.g().all()};
    Portion samples{mine.epoch, Step(t), node.id.value(), replica.ledger.samples(mine)};
    co_await learner.gradient(node.env, replica.w(), g, std::move(samples), unheard, score);

    const Rule sgd;
    const UpdateStep step{0.3, t + 1, static_cast<double>(mine.n)};
    const UpdateTarget all{
        replica.parameters(), replica.g().all(), replica.slots(), Elements(0), {}};
    co_await update(node.env, sgd, step, all);
    replica.ledger.settle_leases(SampleEnd::Applied);

    if ((t + 1) % kTau != 0) continue;
    co_await all_reduce(Exchange::Ring, group, replica.parameters(), replica.scratch().all(), t);
    const std::span<float> w = replica.parameters().data();
    co_await in_slices(node.env, Work::Update, w.size(), w.empty(), Order::Forward, 1,
                       [&](std::size_t from, std::size_t to) {
                         for (std::size_t i = from; i < to; ++i) w[i] /= kWorkers;
                       });
  }
  // No other worker reads our memory any more.
  co_await node.endpoint.retire(kGroup, view->generation);
}

// ---- Live and simulated runs of the same code

struct Results {
  std::mutex mutex;
  std::map<NodeId, std::vector<float>> models;
};

Task<void> worker(Node& node, Results& results) {
  QuadraticLearner learner({.seed = kSeed, .dimensions = Elements(1000), .condition = 20});
  Replica replica(node.endpoint, learner, Ledger(kSeed, 1024));
  co_await local_sgd(node, learner, replica);
  const std::span<const float> w = replica.w().data();
  const std::lock_guard lock(results.mutex);
  results.models[node.id].assign(w.begin(), w.end());
  if (node.id == NodeId(0)) fmt::print("  loss at the end {:.5f}\n", learner.loss(w));
}

}  // namespace

int main() {
  Results simulated, real;
  fmt::print("simulated, {} workers over 1 Gbit/s:\n", kWorkers);
  Cluster cluster = Cluster::uniform(kWorkers, {.latency = 20us, .bytes_per_s = 125e6});
  cluster.ns_per_element.fill(1);
  World world(cluster, {.seed = kSeed});
  const Outcome outcome = world.run([&](Node& node) { return worker(node, simulated); });
  fmt::print("  {} messages, {:.1f} virtual ms\n", outcome.messages, seconds(outcome.end) * 1e3);

  fmt::print("for real, between threads:\n");
  const auto folder = std::filesystem::temp_directory_path();  // nothing is written there
  InprocWorld threads({.nodes = kWorkers, .loops = 2, .seed = kSeed},
                      [&](Env& env, NodeId) { return std::make_unique<PosixFiles>(env, folder); });
  threads.run([&](Node& node) { return worker(node, real); });

  if (real.models.size() != kWorkers || real.models != simulated.models) {
    fmt::print("the two worlds differ, or a worker is missing\n");
    return 1;
  }
  fmt::print("{} workers, the same bits in both worlds\n", kWorkers);
}
