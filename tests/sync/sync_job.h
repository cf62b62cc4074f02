// A small synchronous job for tests: the quadratic, and the final states of its workers.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "learner/quadratic.h"
#include "runtime/node.h"
#include "sync/sync.h"

namespace shoal {

struct SyncJob {
  QuadraticOptions problem{.seed = Seed(11), .dimensions = Elements(101), .buckets = 3};
  Learner* other = nullptr;  // replaces the quadratic
  TrainingTask task{
      .samples = 120, .global_batch = 12, .steps = Step(30), .evaluate = false, .audit = true};
  InStep recipe{};
  SyncTuning tuning{};
  std::function<std::unique_ptr<CheckpointStore>(Node&)> checkpoints;  // empty: no checkpoints

  std::mutex mutex;
  std::map<NodeId, std::vector<float>> results, slots_left;
  std::map<NodeId, std::uint64_t> applied, dropped;  // samples, by the worker's ledger
  std::optional<Ledger> last_ledger;                 // of the worker that ended last

  NodeProgram program() {
    return [this](Node& node) { return work(node); };
  }

  // One worker with the whole batch, by plain SGD.
  std::vector<float> sequential(Seed seed) const {
    const QuadraticLearner learner(problem);
    Ledger ledger(seed, task.samples);
    std::vector<float> w(problem.dimensions.value(), 0.0F);
    for (Step t{0}; t < task.steps; ++t) {
      const std::uint64_t epoch = ledger.epoch() + (ledger.epoch_ended() ? 1 : 0);
      const std::uint64_t batch = batch_in(task.growth, task.global_batch, epoch);
      const Share share = ledger.deal(NodeId(0), Incarnation(1), batch);
      std::vector<float> g(w.size(), 0.0F);
      learner.add_gradients(w, ledger.samples(share), 0, g);
      const double eta = -static_cast<double>(static_cast<float>(task.eta));
      const auto by = static_cast<float>(eta * (1 / static_cast<double>(share.n)));
      for (std::size_t i = 0; i < w.size(); ++i) w[i] = std::fma(by, g[i], w[i]);
      ledger.settle(share, SampleEnd::Applied);
    }
    return w;
  }

 private:
  class NoCheckpointStore final : public CheckpointStore {
    Task<void> save(Replica&) override { co_return; }
    Task<bool> load(Replica&) override { co_return false; }
  };

  Task<void> work(Node& node) {
    QuadraticLearner quadratic(problem);
    Learner& learner = other != nullptr ? *other : static_cast<Learner&>(quadratic);
    const std::unique_ptr<CheckpointStore> kept =
        checkpoints ? checkpoints(node) : std::make_unique<NoCheckpointStore>();
    Replica replica(node.endpoint, learner, Ledger(node.env.seed(), task.samples),
                    slots(task.rule));
    co_await sync_worker(node, learner, *kept, replica, task, recipe, nullptr, tuning);
    const std::lock_guard lock(mutex);
    const std::span<float> w = replica.w().data();
    results[node.id].assign(w.begin(), w.end());
    const std::span<float> s = replica.slots().data();
    slots_left[node.id].assign(s.begin(), s.end());
    const LedgerTally tally = replica.ledger.tally();
    applied[node.id] = tally.ended[static_cast<std::size_t>(SampleEnd::Applied)];
    dropped[node.id] = tally.ended[static_cast<std::size_t>(SampleEnd::Dropped)];
    last_ledger.emplace(replica.ledger);
  }
};

}  // namespace shoal
