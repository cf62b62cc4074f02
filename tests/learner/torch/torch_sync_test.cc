// Several workers on a real network: each step equals that of a single worker.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/dataset.h"
#include "learner/torch/make.h"
#include "sim/world.h"
#include "sync/sync.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSteps = 100;
constexpr std::uint64_t kBatch = 32;  // of all workers together
constexpr std::uint64_t kSamples = 512;

// The state before a step.
struct State {
  std::vector<float> w, slots;
  Progress progress;
};

// Loads the given state, and keeps every state that it is told to save.
class OneState final : public CheckpointStore {
 public:
  OneState(const State* begin, std::map<std::uint64_t, State>& saved)
      : begin_(begin), saved_(saved) {}
  Task<void> save(Replica& replica) override {
    const std::span<float> w = replica.w().data();
    const std::span<float> slots = replica.slots().data();
    saved_[replica.step.value()] = {
        {w.begin(), w.end()}, {slots.begin(), slots.end()}, replica.progress()};
    co_return;
  }
  Task<bool> load(Replica& replica) override {
    if (begin_ == nullptr) co_return false;
    std::ranges::copy(begin_->w, replica.w().data().begin());
    std::ranges::copy(begin_->slots, replica.slots().data().begin());
    replica.restore(begin_->progress);
    co_return true;
  }

 private:
  const State* begin_;
  std::map<std::uint64_t, State>& saved_;
};

class TorchSync : public testing::Test {
 protected:
  TorchSync() {
    const auto no_files = [](const std::string&) -> FileView { throw DataError("no files here"); };
    const Dataset data = open_dataset("synthetic:images,n=640,size=28,channels=1,classes=10",
                                      {.seed = Seed(3)}, no_files);
    TorchTask task;
    task.model = "lenet";
    task.train = data.train;
    task.options.seed = Seed(3);
    learner_ = make_torch_learner(task);
  }

  // The states that P workers produce from a state, up to step `to`.
  std::map<std::uint64_t, State> run(std::size_t P, const State* begin, std::uint64_t to,
                                     const InStep& recipe) {
    std::map<std::uint64_t, State> saved;
    hashes_.clear();
    TrainingTask task;
    task.samples = kSamples;
    task.global_batch = kBatch;
    task.steps = Step(to);
    task.rule = default_rule(RuleKind::Momentum);
    task.eta = 0.05;
    task.save_every = Step(1);
    task.evaluate = false;
    World world(Cluster::uniform(P, {.latency = 10us, .bytes_per_s = 1e10}), {.seed = Seed(3)});
    const Outcome outcome = world.run([&](Node& node) -> Task<> {
      OneState checkpoints(begin, saved);
      Replica replica(node.endpoint, *learner_, Ledger(Seed(3), kSamples), slots(task.rule));
      co_await sync_worker(node, *learner_, checkpoints, replica, task, recipe);
      hashes_[node.id] = hash_of(std::span<const float>(replica.w().data()));
    });
    EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
    EXPECT_TRUE(outcome.errors.empty()) << outcome.errors.front().what;
    for (const auto& [node, hash] : hashes_)
      EXPECT_EQ(hash, hashes_.begin()->second) << "replica " << node.value() << " differs in bits";
    return saved;
  }

  // Equal to 1e-5 of the parameters, far less than the step before.
  static void expect_equal(const State& before, const State& one, const State& several) {
    double most = 0, step = 0, size = 0;
    for (std::size_t i = 0; i < one.w.size(); ++i) {
      size = std::max(size, std::abs(static_cast<double>(one.w[i])));
      step = std::max(step, std::abs(static_cast<double>(one.w[i] - before.w[i])));
      most = std::max(most, std::abs(static_cast<double>(one.w[i] - several.w[i])));
    }
    EXPECT_LT(most, 1e-5 * size);
    EXPECT_LT(most, 1e-3 * step);
  }

  std::unique_ptr<Learner> learner_;
  std::map<NodeId, std::uint64_t> hashes_;
};

TEST_F(TorchSync, EachOfAHundredStepsOfLeNetIsThatOfOneWorkerOnTheGlobalBatch) {
  const InStep sharded{.updater = Updater::Owners};
  const InStep ring{.updater = Updater::Everyone, .exchange = Exchange::Ring};
  std::map<std::uint64_t, State> one = run(1, nullptr, kSteps, ring);
  ASSERT_EQ(one.size(), kSteps);
  for (std::uint64_t t = 1; t < kSteps; ++t) {
    // Two and four workers, sharded and not, in turn.
    const std::size_t P = t % 2 == 0 ? 2 : 4;
    const InStep& recipe = t % 4 < 2 ? sharded : ring;
    const std::map<std::uint64_t, State> several = run(P, &one.at(t), t + 1, recipe);
    SCOPED_TRACE(t);
    expect_equal(one.at(t), one.at(t + 1), several.at(t + 1));
  }
}

}  // namespace
}  // namespace shoal
