// A job with servers on the quadratic, for tests in any world.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "learner/quadratic.h"
#include "ps/served.h"
#include "sim/world.h"
#include "train/folder_checkpoint_store.h"

namespace shoal {

inline constexpr Seed kServedSeed{11};

struct ServedSetup {
  TrainingTask task{.samples = 240, .batch = 6, .epochs = 1, .evaluate = false};
  Served recipe{};
};

struct ServedJob : ServedSetup {
  ServedJob() { recipe.ps.consistency = consistency::Async{}; }

  QuadraticOptions problem{.seed = kServedSeed, .dimensions = Elements(100)};
  Learner* other = nullptr;  // replaces the quadratic
  bool keeps = true;         // checkpoints; false if threads cannot share a disk
  // By worker. Nodes may run on several threads.
  std::mutex mutex;
  std::map<NodeId, std::vector<float>> results;
  std::map<NodeId, std::vector<Time>> steps;  // when each step was done
  std::map<NodeId, std::vector<double>> staleness;
  std::map<NodeId, Duration> waits;  // in total
  Staleness measured;                // of all pushes
  LedgerTally tally;                 // of all epochs so far
  // Called with the parameters that a worker has read after a step, and their version.
  std::function<void(std::uint64_t, std::span<const float>)> after_read = {};
  // Called with the worker, and the number of its steps so far.
  std::function<void(NodeId, std::size_t)> after_step = {};

  // All but the number of samples.
  void take(const ServedSetup& setup) {
    const std::uint64_t samples = task.samples;
    static_cast<ServedSetup&>(*this) = setup;
    task.samples = samples;
  }
  NodeProgram program() {
    return [this](Node& node) { return run(node); };
  }

  // Compares with sequential SGD over batches of that size.
  void expect_near(NodeId worker, std::uint64_t batch) {
    const std::vector<float> oracle = sequential(batch);
    ASSERT_EQ(results[worker].size(), oracle.size());
    for (std::size_t i = 0; i < oracle.size(); ++i)
      ASSERT_NEAR(results[worker][i], oracle[i], 1e-5) << i;
  }

 private:
  class NoCheckpointStore final : public CheckpointStore {
    Task<void> save(Replica&) override { co_return; }
    Task<bool> load(Replica&) override { co_return false; }
  };
  class Told final : public Journal {
   public:
    Told(ServedJob& job, Node& node, Replica& replica)
        : job_(job), node_(node), replica_(replica) {}
    Task<void> step_done(StepReport report) override {
      const std::size_t made = note(report);
      if (job_.after_step) job_.after_step(node_.id, made);
      if (job_.after_read) job_.after_read(report.read.value(), replica_.parameters().data());
      co_return;
    }
    Task<void> evaluated(EvaluationReport) override { co_return; }
    void saved(Step) override {}
    void measured(const Staleness& staleness) override {
      const std::lock_guard lock(job_.mutex);
      job_.measured = staleness;
      job_.tally = replica_.ledger.tally();
    }
    Ending leave() override { return Ending::No; }

   private:
    std::size_t note(const StepReport& report) {
      const std::lock_guard lock(job_.mutex);
      job_.steps[node_.id].push_back(node_.env.now());
      job_.staleness[node_.id].push_back(report.staleness);
      job_.waits[node_.id] += report.wait;
      return job_.steps[node_.id].size();
    }
    ServedJob& job_;
    Node& node_;
    Replica& replica_;
  };

  Task<void> run(Node& node) {
    QuadraticLearner quadratic(problem);
    Learner& learner = other != nullptr ? *other : static_cast<Learner&>(quadratic);
    Replica replica(node.endpoint, learner, Ledger(kServedSeed, task.samples), slots(task.rule));
    FolderCheckpointStore snapshots(node, "checkpoint", learner.layout());
    NoCheckpointStore nothing;
    CheckpointStore& checkpoints = keeps ? static_cast<CheckpointStore&>(snapshots) : nothing;
    Told told(*this, node, replica);
    co_await served_node(node, learner, checkpoints, replica, task, recipe, &told);
    const std::span<float> w = replica.parameters().data();
    const std::lock_guard lock(mutex);
    results[node.id].assign(w.begin(), w.end());
  }

  std::vector<float> sequential(std::uint64_t batch) const {
    const QuadraticLearner learner(problem);
    Ledger ledger(kServedSeed, task.samples);
    std::vector<float> w(problem.dimensions.value(), 0.0F);
    for (std::uint64_t done = 0; done < task.samples * task.epochs;) {
      const Share share = ledger.deal(NodeId(0), Incarnation(1), batch);
      std::vector<float> g(w.size(), 0.0F);
      learner.add_gradients(w, ledger.samples(share), 0, g);
      const float scale = 1 / static_cast<float>(share.n);
      for (std::size_t i = 0; i < w.size(); ++i)
        w[i] -= static_cast<float>(task.eta) * (g[i] * scale);
      ledger.settle(share, SampleEnd::Applied);
      done += share.n;
    }
    return w;
  }
};

// Servers first, then workers.
inline Cluster served_cluster(ServedJob& job, std::size_t servers, std::size_t workers) {
  using namespace std::chrono_literals;
  Cluster c = Cluster::uniform(servers + workers, {.latency = 100us, .bytes_per_s = 1e8});
  c.ns_per_element = {1e4, 4e4, 1e2, 1e2, 0, 0, 0, 0};
  for (std::size_t i = 0; i < servers; ++i) c.nodes[i].role = Role::Server;
  job.task.workers = workers;
  job.recipe.ps.servers = std::max<std::size_t>(1, servers);
  return c;
}

inline Outcome run_served(ServedJob& job, World& world) {
  const Outcome outcome = world.run(job.program());
  EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
  for (const NodeError& error : outcome.errors) ADD_FAILURE() << error.what;
  return outcome;
}

}  // namespace shoal
