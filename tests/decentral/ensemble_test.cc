// Properties of ensembles: for arbitrary predictions, and for trained models.
#include "decentral/ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "data/dataset.h"
#include "decentral/decentral_job.h"
#include "learner/logistic.h"

namespace shoal {
namespace {

TEST(Ensemble, LogLossOfAveragedProbabilitiesIsAtMostTheMeanMembers) {
  Random random(Seed(5), Purpose::Test);
  for (int trial = 0; trial < 200; ++trial) {
    const std::uint64_t members = random.between(1, 7);
    const std::uint64_t classes = random.between(2, 6);
    std::vector<std::int64_t> labels;
    for (std::uint64_t n = random.between(1, 9); n > 0; --n)
      labels.push_back(static_cast<std::int64_t>(random.below(classes)));
    std::vector<float> rows;
    for (std::size_t row = 0; row < members * labels.size(); ++row) {
      std::vector<double> p(classes);
      double sum = 0;
      for (double& x : p) sum += x = random.exponential();
      for (const double x : p) rows.push_back(static_cast<float>(x / sum));
    }
    EnsembleScore score;
    judge_together(Combine::Mean, members, classes, rows, labels, score);
    EXPECT_EQ(score.together.samples, labels.size());
    EXPECT_EQ(score.members.samples, members * labels.size());
    EXPECT_LE(mean_loss(score.together), mean_loss(score.members) + 1e-9);
    if (members == 1) {
      EXPECT_EQ(score.together, score.members);
    }
  }
}

TEST(Ensemble, AVoteIsOfAnswersAndAMeanOfProbabilities) {
  // Two members slightly prefer 0, one is sure of 1.
  const std::vector<float> rows = {0.6F, 0.4F, 0.6F, 0.4F, 0.1F, 0.9F};
  const std::vector<std::int64_t> label = {0};
  EnsembleScore mean, vote;
  judge_together(Combine::Mean, 3, 2, rows, label, mean);
  judge_together(Combine::Vote, 3, 2, rows, label, vote);
  EXPECT_EQ(mean.together.correct, 0U);
  EXPECT_EQ(vote.together.correct, 1U);
  EXPECT_EQ(vote.members.correct, 2U);
  EXPECT_NEAR(mean.together.loss, -std::log(1.3 / 3), 1e-6);
}

TEST(Ensemble, OfAsManyVotesProbabilitiesDecide) {
  const std::vector<float> rows = {0.6F, 0.4F, 0.1F, 0.9F};
  const std::vector<std::int64_t> label = {1};
  EnsembleScore vote;
  judge_together(Combine::Vote, 2, 2, rows, label, vote);
  EXPECT_EQ(vote.together.correct, 1U);
}

TEST(Ensemble, AProblemWithoutClassesIsRefused) {
  DecentralJob job = DecentralJob::like("ensemble");
  job.task.evaluate = true;
  job.problem.held_out = 10;
  job.task.workers = 2;
  World world(DecentralJob::cluster(2), {.seed = kDecentralSeed});
  const Outcome outcome = world.run(job.program());
  ASSERT_FALSE(outcome.errors.empty());
  EXPECT_THAT(outcome.errors[0].what, testing::HasSubstr("--combine none"));
}

// ---- Trained ensembles

class Told final : public Journal {
 public:
  Task<void> step_done(StepReport) override { co_return; }
  Task<void> evaluated(EvaluationReport report) override {
    last = report;
    co_return;
  }
  void saved(Step) override {}
  Ending leave() override { return Ending::No; }
  EvaluationReport last;
};

struct LogisticJob {
  Dataset data = open_dataset("synthetic:sparse,features=100,pairs=6,n=400,test=300", {}, {});
  TrainingTask task{.samples = data.train->size(), .batch = 10, .epochs = 3, .eta = 0.5};
  Decentral recipe{};
  std::map<NodeId, EvaluationReport> last;
  std::map<NodeId, std::vector<float>> own, results;

  void run(std::uint64_t workers) {
    task.workers = workers;
    World world(DecentralJob::cluster(workers), {.seed = kDecentralSeed});
    const Outcome outcome = world.run([this](Node& node) { return work(node); });
    EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
    for (const NodeError& error : outcome.errors) ADD_FAILURE() << error.what;
  }
  Task<void> work(Node& node) {
    LogisticLearner learner(data.train, data.test);
    Replica replica(node.endpoint, learner, Ledger(kDecentralSeed, task.samples), 0);
    FolderCheckpointStore checkpoints(node, "checkpoint", learner.layout());
    Told told;
    co_await decentral_worker(node, learner, checkpoints, replica, task, recipe, &told);
    last[node.id] = told.last;
    const std::span<float> result = replica.w().data();
    results[node.id].assign(result.begin(), result.end());
    const std::span<float> model = replica.next_w().data();
    own[node.id].assign(model.begin(), model.end());
  }
};

TEST(Ensemble, IsBetterThanItsMembersAndItsModelsStayApart) {
  LogisticJob job;
  job.recipe.algorithm = std::get<Decentral>(find_system("ensemble").recipe).algorithm;
  job.run(4);
  for (const auto& [node, report] : job.last) {
    ASSERT_TRUE(report.members.has_value());
    EXPECT_EQ(report.total, job.last[NodeId(0)].total);
    EXPECT_LT(mean_loss(report.total), mean_loss(*report.members));
    EXPECT_EQ(report.members->samples, 4 * report.total.samples);
    EXPECT_TRUE(job.results[node] == job.own[NodeId(0)]);
  }
  EXPECT_FALSE(job.own[NodeId(0)] == job.own[NodeId(1)]);
}

TEST(Ensemble, OfOneMemberIsThatMember) {
  LogisticJob ensemble, alone;
  ensemble.recipe.algorithm = IndependentSettings{.combine = Combine::Mean};
  alone.recipe.algorithm = IndependentSettings();
  ensemble.run(1);
  alone.run(1);
  const EvaluationReport& a = ensemble.last[NodeId(0)];
  const EvaluationReport& b = alone.last[NodeId(0)];
  EXPECT_EQ(a.total.correct, b.total.correct);
  EXPECT_NEAR(a.total.loss, b.total.loss, 1e-3);
  EXPECT_EQ(a.total, *a.members);
}

TEST(Ensemble, BaggingDrawsOtherSamples) {
  LogisticJob bagged, dealt;
  bagged.recipe.algorithm = IndependentSettings{.bagging = true};
  dealt.recipe.algorithm = IndependentSettings();
  bagged.run(2);
  dealt.run(2);
  EXPECT_FALSE(bagged.own[NodeId(0)] == dealt.own[NodeId(0)]);
  EXPECT_FALSE(bagged.own[NodeId(0)] == bagged.own[NodeId(1)]);
}

}  // namespace
}  // namespace shoal
