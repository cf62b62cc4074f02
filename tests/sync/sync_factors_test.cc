// Factors of fully connected layers instead of gradients: sfb, and Poseidon's rule.
#include <gtest/gtest.h>

#include <chrono>

#include "ps/softmax.h"
#include "recipe/registry.h"
#include "sim/world.h"
#include "sync/factor_sums.h"
#include "sync/sync_job.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr Seed kFactorsSeed{4};

struct FactorsRun {
  std::map<NodeId, std::vector<float>> results;
  std::uint64_t factors = 0;  // messages of the factors' size
};

// Runs a softmax regression, whose weight is one matrix; B samples a worker.
FactorsRun run_factors(const char* system, std::size_t P, std::uint64_t B) {
  constexpr std::uint64_t M = SoftmaxLearner::kClasses, N = SoftmaxLearner::kFeatures;
  class Count final : public Observer {
   public:
    explicit Count(std::uint64_t size) : size_(size) {}
    void on(const Event& e) override {
      if (e.kind == EventKind::SendPosted && e.b == size_) ++messages;
    }
    std::uint64_t messages = 0;

   private:
    std::uint64_t size_;
  };
  constexpr std::uint64_t kHead = 40;
  Count count(kHead + 4 * B * (M + N));
  SoftmaxLearner learner(kFactorsSeed);
  SyncJob job;
  job.other = &learner;
  job.recipe = std::get<InStep>(find_system(system).recipe);
  job.task.global_batch = B * P;
  job.task.workers = P;
  Recorder recorder;
  recorder.observe(count);
  World world(Cluster::uniform(P, {.latency = 10us, .bytes_per_s = 1e8}),
              {.seed = kFactorsSeed, .recorder = &recorder});
  const Outcome o = world.run(job.program());
  EXPECT_TRUE(o.finished && o.errors.empty());
  return {job.results, count.messages};
}

TEST(SyncFactors, EqualDenseGradientsAndHaveTheBytesOfTheFormula) {
  for (const std::size_t P : {2U, 3U, 4U}) {
    const FactorsRun factors = run_factors("sfb", P, 1), dense = run_factors("pytorch", P, 1);
    ASSERT_EQ(factors.results.size(), P);
    for (const auto& [node, w] : factors.results) {
      EXPECT_EQ(w, factors.results.begin()->second) << "bit for bit on all workers";
      ASSERT_EQ(w.size(), dense.results.at(node).size());
      for (std::size_t i = 0; i < w.size(); ++i)
        EXPECT_NEAR(w[i], dense.results.at(node)[i], 1e-5) << i;
    }
    EXPECT_EQ(factors.factors, 30 * P * (P - 1)) << "B (M + N') values to each other, in 30 steps";
    EXPECT_EQ(dense.factors, 0U);
  }
}

TEST(SyncFactors, PoseidonTakesWhatIsLess) {
  // 3 x 8 among two workers: 11 B values or 24.
  EXPECT_EQ(run_factors("poseidon", 2, 2).factors, 30U * 2);
  EXPECT_EQ(run_factors("poseidon", 2, 3).factors, 0U);
}

TEST(SyncFactors, PoseidonsRuleFlipsAtEquality) {
  // 2 B (P-1) (M + N') <= 2 M N' (P + S - 2) / S
  EXPECT_TRUE(poseidon_broadcasts(4, 2, 2, 8, 8));
  EXPECT_FALSE(poseidon_broadcasts(5, 2, 2, 8, 8));
  EXPECT_TRUE(poseidon_broadcasts(32, 2, 1, 64, 64));
  EXPECT_FALSE(poseidon_broadcasts(33, 2, 1, 64, 64));
  EXPECT_FALSE(poseidon_broadcasts(64, 16, 16, 100, 10));
}

}  // namespace
}  // namespace shoal
