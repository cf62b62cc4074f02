// Synchronous SGD: properties of every recipe (SYSTEMS.md, rows A and E).
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sim/words.h"
#include "sim/world.h"
#include "sync/dealing.h"
#include "sync/stragglers.h"
#include "sync/sync_job.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

std::vector<Rank> ranks(std::initializer_list<std::uint32_t> numbers) {
  std::vector<Rank> all;
  for (const std::uint32_t n : numbers) all.emplace_back(n);
  return all;
}

TEST(Split, FollowsTheWeightsAndGivesOutAll) {
  EXPECT_EQ(split(10, {1, 1, 1}), (std::vector<std::uint64_t>{4, 3, 3}));
  EXPECT_EQ(split(10, {0, 3, 1}), (std::vector<std::uint64_t>{0, 8, 2}));
  EXPECT_EQ(split(0, {1, 1}), (std::vector<std::uint64_t>{0, 0}));
  EXPECT_EQ(split(1, {0, 0, 0.5}), (std::vector<std::uint64_t>{0, 0, 1}));
}

TEST(TurnoutDecision, TheFirstCountAndBackupsAreDropped) {
  const InStep recipe{.stragglers = FirstGradients{1}};
  const Candidates micro_shards = {ranks({0}), ranks({1}), ranks({2})};
  EXPECT_FALSE(decide_stragglers(recipe, micro_shards, ranks({2})));
  EXPECT_EQ(decide_stragglers(recipe, micro_shards, ranks({2, 0})),
            (Winners{Rank(0), kDropped, Rank(2)}));
}

TEST(TurnoutDecision, BackupsNeverDropEveryone) {
  const InStep recipe{.stragglers = FirstGradients{5}};
  const Candidates micro_shards = {ranks({0}), ranks({1})};
  EXPECT_FALSE(decide_stragglers(recipe, micro_shards, {}));
  EXPECT_EQ(decide_stragglers(recipe, micro_shards, ranks({1})), (Winners{kDropped, Rank(1)}));
}

TEST(TurnoutDecision, OfTwoWorkersOfALotTheFirstCounts) {
  const InStep recipe{.stragglers = RedundantGradients()};
  const Candidates micro_shards = {ranks({0, 2}), ranks({1, 3})};
  EXPECT_FALSE(decide_stragglers(recipe, micro_shards, ranks({2, 0})));
  EXPECT_EQ(decide_stragglers(recipe, micro_shards, ranks({2, 0, 3, 1})),
            (Winners{Rank(2), Rank(3)}));
}

TEST(TurnoutDecision, TheFastestEndsTheStepForAll) {
  const InStep recipe{.stragglers = PartialGradients()};
  const Candidates micro_shards = {ranks({0}), ranks({1})};
  EXPECT_FALSE(decide_stragglers(recipe, micro_shards, {}));
  EXPECT_EQ(decide_stragglers(recipe, micro_shards, ranks({1})), (Winners{Rank(0), Rank(1)}));
}

class SyncRecipe : public testing::Test {
 protected:
  SyncJob job;

  static Cluster cluster(std::size_t P) {
    Cluster c = Cluster::uniform(P, {.latency = 100us, .bytes_per_s = 1e8});
    c.ns_per_element = {1e4, 4e4, 1e2, 1e2, 0, 0, 0, 0};
    c.stragglers.resize(P);
    return c;
  }
  static void slow(Cluster& c, std::size_t node, double factor) {
    c.stragglers[node] = {Straggler::Kind::Constant, factor};
  }
  Outcome run(World& world) {
    job.results.clear();
    job.applied.clear();
    job.dropped.clear();
    const Outcome outcome = world.run(job.program());
    EXPECT_TRUE(outcome.finished) << outcome.waiting_for;
    EXPECT_TRUE(outcome.errors.empty()) << outcome.errors.front().what;
    for (const auto& [node, w] : job.results)
      EXPECT_EQ(w, job.results.begin()->second) << "node " << node.value() << " differs in bits";
    return outcome;
  }
  Outcome run(const Cluster& c) {
    World world(c, {.seed = Seed(4)});
    return run(world);
  }
  const std::vector<float>& result() { return job.results.begin()->second; }
  void expect_sequential() {
    const std::vector<float> oracle = job.sequential(Seed(4));
    for (std::size_t i = 0; i < oracle.size(); ++i) ASSERT_NEAR(result()[i], oracle[i], 1e-5);
  }
};

TEST_F(SyncRecipe, EveryUpdaterAndExchangeEqualsOneWorkerOnTheGlobalBatch) {
  for (const Updater updater : {Updater::Everyone, Updater::Owners, Updater::Root})
    for (std::size_t e = 1; e < kExchanges; ++e)
      for (const std::size_t P : {2U, 3U, 4U, 7U}) {
        job.recipe.updater = updater;
        job.recipe.exchange = static_cast<Exchange>(e);
        run(cluster(P));
        ASSERT_EQ(job.results.size(), P);
        expect_sequential();
      }
}

// Smith et al. 2017.
TEST_F(SyncRecipe, AGrowingBatchTakesEverySampleOfAnEpochOnceInFewerSteps) {
  job.task.growth = parse_batch_growth("2@1,2");
  const Epochs epochs{job.task.samples, job.task.global_batch, job.task.growth};
  job.task.steps = epochs.steps_of(4);
  EXPECT_EQ(job.task.steps, Step(10 + 5 + 3 + 3));
  for (const std::size_t P : {1U, 3U}) {
    run(cluster(P));
    for (const auto& [node, samples] : job.applied) EXPECT_EQ(samples, 4 * job.task.samples);
    EXPECT_TRUE(job.last_ledger->epoch_ended());
    EXPECT_EQ(job.last_ledger->epoch(), 3U);
    expect_sequential();
  }
}

TEST_F(SyncRecipe, AGrowingBatchGoesThroughLossesToo) {
  job.task.growth = parse_batch_growth("3@1");
  job.task.steps = Epochs{job.task.samples, job.task.global_batch, job.task.growth}.steps_of(3);
  FaultPlan faults = parse_faults("crash:1@20ms+20ms", 3);
  World world(cluster(3), {.seed = Seed(4), .faults = faults});
  run(world);
  for (const auto& [node, samples] : job.applied) EXPECT_EQ(samples, 3 * job.task.samples);
  expect_sequential();
}

// bigdl, caffeonspark: LARS, LAMB and clipping compute norms across the shards.
TEST_F(SyncRecipe, AShardedUpdateEqualsTheWholeOneForEveryOptimizer) {
  for (std::size_t k = 0; k < kRuleKinds; ++k)
    for (const double clip : {0.0, 0.1}) {
      job.task.rule = default_rule(static_cast<RuleKind>(k));
      job.task.rule.clip_norm = clip;
      job.task.eta = 0.01;
      job.recipe = InStep{.updater = Updater::Everyone};
      run(cluster(4));
      const std::vector<float> whole = result();
      job.recipe = InStep{.updater = Updater::Owners};
      run(cluster(4));
      for (std::size_t i = 0; i < whole.size(); ++i)
        ASSERT_NEAR(result()[i], whole[i], 1e-5) << describe(job.task.rule);
    }
}

TEST_F(SyncRecipe, AccumulatedGradientsEqualThoseOfTheWholeShare) {
  job.recipe.accumulate = 3;
  for (const std::size_t P : {1U, 2U, 5U}) {
    run(cluster(P));
    expect_sequential();
  }
}

TEST_F(SyncRecipe, SharesFollowTheSpeedOfTheWorkers) {
  Cluster c = cluster(3);
  slow(c, 1, 3);
  job.task.global_batch = 60;
  job.task.samples = 1200;
  const Outcome even = run(c);
  job.recipe.balance = Balance::Auto;
  const Outcome balanced = run(c);
  expect_sequential();
  // Even shares wait for the slow one, 3 of 3 units a step; balanced ones take 9/7 of a unit.
  EXPECT_LT(seconds(balanced.end), 0.6 * seconds(even.end));
}

TEST_F(SyncRecipe, ReproducibleRunsGiveTheSameBitsForAnyNumberOfWorkers) {
  for (const RuleKind kind : {RuleKind::Momentum, RuleKind::Lamb}) {
    job.task.rule = default_rule(kind);
    job.recipe = InStep{.updater = Updater::Owners, .shards = 8};
    job.task.eta = 0.01;
    run(cluster(1));
    const std::vector<float> one = result();
    for (const std::size_t P : {2U, 3U, 4U, 5U, 8U, 11U}) {
      run(cluster(P));
      EXPECT_EQ(result(), one) << P << " workers";
    }
  }
}

TEST_F(SyncRecipe, ReproducibleRunsGiveTheSameBitsWhateverFails) {
  job.recipe = InStep{.updater = Updater::Owners, .shards = 8};
  job.task.rule = default_rule(RuleKind::Momentum);
  job.task.eta = 0.01;
  run(cluster(1));
  const std::vector<float> one = result();
  for (std::uint64_t k = 0; k < 40; ++k) {
    World world(cluster(4), {.seed = Seed(4)});
    const NodeId first(static_cast<std::uint32_t>(k % 4));
    const NodeId second(static_cast<std::uint32_t>(k / 4 % 4));
    world.at(Time(20ms + 7ms * k), [&] { world.kill(first, false); });
    world.restart_at(first, Time(90ms + 7ms * k));
    if (second != first) world.at(Time(55ms + 11ms * k), [&] { world.kill(second, false); });
    run(world);
    EXPECT_EQ(result(), one) << "kills " << k;
  }
}

// tensorflow-sync
TEST_F(SyncRecipe, WithBackupWorkersExactlyPGradientsCountInAStep) {
  job.recipe = InStep{.updater = Updater::Owners, .stragglers = FirstGradients{2}};
  job.task.global_batch = 60;
  job.task.samples = 6000;
  Cluster c = cluster(6);
  slow(c, 2, 5);
  slow(c, 5, 5);
  run(c);
  for (const auto& [node, applied] : job.applied) {
    EXPECT_EQ(applied, job.task.steps.value() * 40) << "node " << node.value();
    EXPECT_EQ(job.dropped[node], job.task.steps.value() * 20) << "node " << node.value();
  }
}

TEST_F(SyncRecipe, WithABackupWorkerAStepTakesAsLongAsThePthFastest) {
  job.problem.buckets = 50;  // A dropped worker stops at the next bucket.
  job.task.global_batch = 40;
  job.task.samples = 4000;
  job.recipe = InStep{.updater = Updater::Owners, .stragglers = FirstGradients{1}};
  Cluster c = cluster(4);
  c.ns_per_element[0] = 1e2;
  const Outcome equal = run(c);
  slow(c, 3, 5);
  const Outcome straggling = run(c);
  EXPECT_LT(seconds(straggling.end), 1.25 * seconds(equal.end));
}

// a-bsp
TEST_F(SyncRecipe, WhenTheFastestEndsTheStepNoSampleIsLost) {
  job.recipe = InStep{.updater = Updater::Owners, .stragglers = PartialGradients()};
  job.task.samples = 120;
  job.task.global_batch = 16;
  Cluster c = cluster(4);
  slow(c, 1, 2.5);
  run(c);
  const Ledger& ledger = *job.last_ledger;
  EXPECT_EQ(ledger.tally().ended[static_cast<std::size_t>(SampleEnd::Dropped)], 0U);
  EXPECT_LT(job.applied[NodeId(0)], job.task.steps.value() * job.task.global_batch)
      << "nobody was late";
  EXPECT_EQ(ledger.tally().ended[0], ledger.epoch() * 120 + ledger.place().done());
}

TEST_F(SyncRecipe, WithEqualSpeedsTheFastestIsBulkSynchronousBitForBit) {
  job.task.global_batch = 16;
  job.recipe = InStep{.updater = Updater::Owners, .accumulate = 4};
  run(cluster(4));
  const std::vector<float> bulk = result();
  job.recipe = InStep{.updater = Updater::Owners, .stragglers = PartialGradients()};
  run(cluster(4));
  EXPECT_EQ(result(), bulk);
}

TEST_F(SyncRecipe, UnderStragglersTheFastestIsFasterThanBulkSynchronous) {
  Cluster c = cluster(4);
  slow(c, 2, 4);
  job.task.global_batch = 64;
  job.task.samples = 640;
  job.recipe = InStep{.updater = Updater::Owners};
  const Outcome bulk = run(c);
  const double bulk_rate = static_cast<double>(job.applied[NodeId(0)]) / seconds(bulk.end);
  job.recipe.stragglers = PartialGradients();
  const Outcome fastest = run(c);
  const double rate = static_cast<double>(job.applied[NodeId(0)]) / seconds(fastest.end);
  EXPECT_GT(rate, 1.5 * bulk_rate);
}

// DistBelief's redundant groups
TEST_F(SyncRecipe, OfTwoRedundantGroupsItDoesNotMatterWhoWins) {
  job.recipe = InStep{.updater = Updater::Owners, .stragglers = RedundantGradients()};
  run(cluster(6));
  const std::vector<float> first = result();
  expect_sequential();
  Cluster c = cluster(6);
  slow(c, 0, 5);
  slow(c, 4, 3);
  const Outcome slowed = run(c);
  EXPECT_EQ(result(), first);
  job.recipe.stragglers = AllGradients();
  EXPECT_LT(seconds(slowed.end), seconds(run(c).end));
}

// project-adam-epoch
TEST_F(SyncRecipe, AnEpochEndsAtItsFractionAndSkipsOtherSamplesNextTime) {
  job.task.samples = 100;
  job.task.global_batch = 15;
  job.task.steps = Step(15);  // three epochs of five steps
  job.recipe.epoch_fraction = 0.75;
  run(cluster(3));
  const auto& tally = job.last_ledger->tally();
  EXPECT_EQ(tally.ended[static_cast<std::size_t>(SampleEnd::Applied)], 225U);
  EXPECT_EQ(tally.ended[static_cast<std::size_t>(SampleEnd::Dropped)], 75U);
  std::vector<std::set<SampleId>> skipped;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<SampleId> ids = job.last_ledger->samples({epoch, 75, 25});
    skipped.emplace_back(ids.begin(), ids.end());
  }
  EXPECT_NE(skipped[0], skipped[1]);
  EXPECT_NE(skipped[1], skipped[2]);
}

TEST_F(SyncRecipe, TheBatchOfAWorkerStaysWhenWorkersAreLost) {
  job.recipe.keep = KeepBatch::Worker;
  job.task.workers = 4;
  World world(cluster(4), {.seed = Seed(4)});
  world.at(Time(1ms), [&] { world.kill(NodeId(3), false); });
  run(world);
  EXPECT_LE(job.applied[NodeId(0)], job.task.steps.value() * 9 + 12);
}

}  // namespace
}  // namespace shoal
