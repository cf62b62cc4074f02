// Properties of hogwild, on dense and sparse problems.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "data/dataset.h"
#include "decentral/decentral_job.h"
#include "learner/logistic.h"
#include "runtime/live/live_env.h"

namespace shoal {
namespace {

DecentralJob hogwild(std::uint32_t threads) {
  DecentralJob job = DecentralJob::like("hogwild");
  job.set("learners", threads);
  job.task.batch = 40;
  job.task.epochs = 3;
  job.task.eta = 0.02;
  return job;
}

// ---- On the quadratic, whose samples change every number

TEST(Hogwild, OneThreadIsSequentialSgdBitForBit) {
  DecentralJob job = hogwild(1);
  job.run(1);
  const QuadraticLearner learner(job.problem);
  Ledger ledger(kDecentralSeed, job.task.samples);
  std::vector<float> w(job.problem.dimensions.value(), 0.0F);
  std::vector<float> g(w.size());
  for (std::uint64_t n = 0; n < job.task.epochs * job.task.samples; ++n) {
    const Share share = ledger.deal(NodeId(0), Incarnation(1), 1);
    std::ranges::fill(g, 0.0F);
    learner.add_gradients(w, ledger.samples(share), 0, g);
    for (std::size_t j = 0; j < w.size(); ++j) w[j] += -static_cast<float>(job.task.eta) * g[j];
    ledger.settle(share, SampleEnd::Applied);
  }
  EXPECT_TRUE(job.results[NodeId(0)] == w);
}

TEST(Hogwild, ConvergesOnADenseProblem) {
  for (const std::uint32_t threads : {2U, 4U, 16U}) {
    DecentralJob job = hogwild(threads);
    job.run(1);
    const std::vector<float>& w = job.results[NodeId(0)];
    EXPECT_LT(job.loss(w), 0.3 * job.loss(std::vector<float>(w.size(), 0.0F))) << threads;
    EXPECT_EQ(job.applied[NodeId(0)], job.task.epochs * job.task.samples);
  }
}

TEST(Hogwild, TheSeedDrawsHowThreadsInterleave) {
  std::vector<std::vector<float>> results;
  for (const std::uint64_t seed : {1U, 1U, 2U}) {
    DecentralJob job = hogwild(3);
    World world(DecentralJob::cluster(1), {.seed = Seed(seed)});
    job.run(world, 1);
    results.push_back(job.results[NodeId(0)]);
  }
  EXPECT_TRUE(results[0] == results[1]);
  EXPECT_FALSE(results[0] == results[2]);
}

TEST(Hogwild, MoreThreadsTakeLessTime) {
  DecentralJob one = hogwild(1);
  one.run(1);
  DecentralJob four = hogwild(4);
  four.run(1);
  EXPECT_LT(four.outcome.end.time_since_epoch().count(),
            one.outcome.end.time_since_epoch().count() / 3);
}

TEST(Hogwild, WorkersAverageTheirModels) {
  DecentralJob job = hogwild(2);
  job.run(3);
  for (const auto& [node, w] : job.models) EXPECT_TRUE(w == job.models.begin()->second);
}

TEST(Hogwild, RefusesAnOptimizerWithAMemory) {
  DecentralJob job = hogwild(2);
  job.task.rule = default_rule(RuleKind::Momentum);
  World world(DecentralJob::cluster(1), {.seed = kDecentralSeed});
  job.task.workers = 1;
  const Outcome outcome = world.run(job.program());
  ASSERT_FALSE(outcome.errors.empty());
  EXPECT_THAT(outcome.errors[0].what, testing::HasSubstr("--optimizer sgd"));
}

// ---- Logistic regression on sparse samples

class SparseProblem : public testing::Test {
 protected:
  SparseProblem()
      : data(open_dataset("synthetic:sparse,features=400,pairs=8,n=3000,test=600", {}, {})),
        learner(data.train, data.test),
        w(learner.layout().all(), Substance::Real) {}

  Portion portion(std::uint64_t k, std::uint64_t of) const {
    Portion p;
    for (SampleId id = k; id < data.train->size(); id += of) p.samples.push_back(id);
    return p;
  }
  double accuracy_by_lanes(std::uint64_t threads, int epochs) {
    LiveLoop loop;
    LiveEnv env(loop, {});
    learner.initialize(w.all());
    for (int e = 0; e < epochs; ++e) {
      std::vector<Score> scores(threads);
      std::vector<std::unique_ptr<Lane>> lanes;
      std::vector<Lane*> all;
      for (std::uint64_t k = 0; k < threads; ++k) {
        lanes.push_back(learner.lane(w.all(), portion(k, threads), 0.3, scores[k]));
        all.push_back(lanes.back().get());
      }
      env.together(all, 0);
      const std::uint64_t samples =
          std::accumulate(scores.begin(), scores.end(), std::uint64_t{0},
                          [](std::uint64_t n, const Score& s) { return n + s.samples; });
      EXPECT_EQ(samples, data.train->size());
    }
    Score score;
    run_task(loop, judge(env, score));
    return accuracy(score);
  }
  Task<void> judge(Env& env, Score& score) {
    score = co_await learner.evaluate(env, w.all(), 0, learner.held_out());
  }

  Dataset data;
  LogisticLearner learner;
  Arena w;
};

TEST_F(SparseProblem, ThreadsWithoutLocksConverge) {
  EXPECT_GT(accuracy_by_lanes(1, 8), 0.85);
  EXPECT_GT(accuracy_by_lanes(2, 8), 0.85);
  EXPECT_GT(accuracy_by_lanes(4, 8), 0.85);
}

TEST_F(SparseProblem, StepByStepOneLaneIsAWholeRunBitForBit) {
  Arena other(learner.layout().all(), Substance::Real);
  Score whole;
  Score steps;
  learner.lane(w.all(), portion(0, 1), 0.3, whole)->run();
  const std::unique_ptr<Lane> lane = learner.lane(other.all(), portion(0, 1), 0.3, steps);
  while (lane->step()) {
  }
  EXPECT_TRUE(std::ranges::equal(w.all().data(), other.all().data()));
  EXPECT_EQ(whole, steps);
}

TEST_F(SparseProblem, OneLaneIsSequentialSgdBitForBit) {
  Score score;
  learner.lane(w.all(), portion(0, 1), 0.3, score)->run();
  std::vector<float> oracle(w.size().value(), 0.0F);
  Batch batch;
  data.train->fill(0, portion(0, 1).samples, batch);
  for (std::size_t i = 0; i < batch.n; ++i) {
    const Features x = features_of(data.train->shape(), batch, i);
    float z = 0;
    for (std::size_t k = 0; k < x.n; ++k) z += oracle[x.index(k)] * x.values[k];
    const float change = -0.3F * (1 / (1 + std::exp(-z)) - (batch.labels[i] == 1 ? 1.0F : 0.0F));
    for (std::size_t k = 0; k < x.n; ++k) oracle[x.index(k)] += change * x.values[k];
  }
  EXPECT_TRUE(std::ranges::equal(w.all().data(), oracle));
}

TEST_F(SparseProblem, TheGradientIsThatOfTheLoss) {
  Random random(Seed(3), Purpose::Test);
  for (float& x : w.all().data()) x = static_cast<float>(0.3 * random.normal());
  Arena g(learner.layout().all(), Substance::Real);
  LiveLoop loop;
  LiveEnv env(loop, {});
  const auto loss_at = [&](Range state, Range gradient) {
    Score score;
    Channel<Ready> ready;
    const auto compute = [&]() -> Task<void> {
      const GradientTarget target{gradient};
      co_await learner.gradient(env, state, target, portion(0, 100), ready, score);
    };
    run_task(loop, compute());
    return score.loss;
  };
  loss_at(w.all(), g.all());
  Arena unused(learner.layout().all(), Substance::Real);
  for (const std::size_t j : {0U, 3U, 17U}) {
    constexpr float kStep = 1e-2F;
    float& x = w.all().data()[j];
    x += kStep;
    const double above = loss_at(w.all(), unused.all());
    x -= 2 * kStep;
    const double below = loss_at(w.all(), unused.all());
    x += kStep;
    EXPECT_NEAR((above - below) / (2 * static_cast<double>(kStep)), g.all().data()[j], 2e-2) << j;
  }
}

TEST(Logistic, RefusesWhatHasNotTwoClasses) {
  const Dataset data = open_dataset("synthetic:blobs,features=4,n=100,classes=3", {}, {});
  EXPECT_THROW(LogisticLearner(data.train, data.test), ConfigError);
}

}  // namespace
}  // namespace shoal
