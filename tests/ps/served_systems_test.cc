// Properties that identify each system with servers: pushes, messages, staleness, and special
// cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "ps/served_job.h"
#include "ps/softmax.h"
#include "recipe/registry.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

class Systems : public testing::Test {
 protected:
  struct Run {
    std::vector<float> w;
    Staleness staleness;
    std::uint64_t messages = 0;
    std::map<NodeId, std::vector<Time>> steps;
    std::map<NodeId, Duration> waits;
    double mean_wait(NodeId worker) const {
      return seconds(waits.at(worker)) / static_cast<double>(steps.at(worker).size());
    }
  };

  static ServedSetup like(const char* name) {
    ServedSetup o;
    o.recipe.ps = std::get<Served>(find_system(name).recipe).ps;
    if (find_system(name).optimizer == "adagrad") o.task.rule = parse_rule("adagrad");
    return o;
  }
  // One server, or the system's number; the last worker is `slow` times slower.
  Run run(const ServedSetup& setup, std::size_t workers, double slow = 1, Seed seed = kServedSeed) {
    ServedJob job;
    job.task.samples = samples;
    job.problem = problem;
    job.other = learner;
    job.take(setup);
    const std::size_t servers = setup.recipe.ps.servers;
    Cluster cluster = served_cluster(job, servers, workers);
    cluster.stragglers.resize(servers + workers);
    if (slow > 1) cluster.stragglers.back() = {Straggler::Kind::Constant, slow};
    for (std::size_t i = servers; noise > 0 && i < servers + workers; ++i)
      cluster.stragglers[i] = {Straggler::Kind::Jitter, noise};
    if (update_ns > 0) cluster.ns_per_element[static_cast<std::size_t>(Work::Update)] = update_ns;
    World world(cluster, {.seed = seed});
    Run run;
    run.messages = run_served(job, world).messages;
    run.w = job.results[NodeId(static_cast<std::uint32_t>(servers))];
    run.staleness = job.measured;
    run.steps = job.steps;
    run.waits = job.waits;
    return run;
  }
  double loss(const Run& run) const { return QuadraticLearner(problem).loss(run.w); }

  Learner* learner = nullptr;  // null: the quadratic
  std::uint64_t samples = 480;
  QuadraticOptions problem{.seed = kServedSeed, .dimensions = Elements(100)};
  double noise = 0;
  double update_ns = 0;  // per parameter; 0: the default
};

// ---- downpour

TEST_F(Systems, DownpourPushesOnceForSeveralSteps) {
  ServedSetup o = like("downpour");
  o.recipe.ps.warm_start = 0;
  const Run every = run(o, 4);
  EXPECT_NEAR(static_cast<double>(every.staleness.pushes), 480.0 / 6 / 2, 4);
  o.recipe.ps.push_every = 1;
  o.recipe.ps.fetch = fetch::Every{1};
  const Run one = run(o, 4);
  EXPECT_EQ(one.staleness.pushes, 480U / 6);
  EXPECT_LT(every.messages, one.messages);
}

TEST_F(Systems, DownpourWithOneWorkerThatPushesAndFetchesEveryStepIsSgd) {
  ServedSetup o = like("downpour");
  o.task.rule = Rule();
  o.recipe.ps.push_every = 1;
  o.recipe.ps.fetch = fetch::Every{1};
  ServedSetup plain;
  EXPECT_EQ(run(o, 1).w, run(plain, 1).w);
}

TEST_F(Systems, DownpourBeginsWithOneWorker) {
  ServedSetup o = like("downpour");
  o.recipe.ps.warm_start = 10;
  const Run warm = run(o, 4);
  EXPECT_GT(warm.steps.at(NodeId(2)).front(), warm.steps.at(NodeId(1))[15])
      << "ten updates of two steps each are made before the second worker begins";
}

TEST_F(Systems, AWorkerThatReadsSeldomMovesAloneInBetween) {
  // With one worker the server's steps follow the worker's own: both give the same result.
  ServedSetup o;
  o.recipe.ps.consistency = consistency::Async{};
  const Run always = run(o, 1);
  o.recipe.ps.fetch = fetch::Every{8};
  o.recipe.ps.push_every = 1;
  const Run seldom = run(o, 1);
  ASSERT_EQ(always.w.size(), seldom.w.size());
  for (std::size_t i = 0; i < always.w.size(); ++i) ASSERT_NEAR(always.w[i], seldom.w[i], 1e-5);
}

// ---- ssp, petuum

TEST_F(Systems, PetuumIsLessStaleThanSsp) {
  samples = 1200;
  noise = 0.4;
  const Run ssp = run(like("ssp"), 4), petuum = run(like("petuum"), 4);
  EXPECT_LT(petuum.staleness.mean(), ssp.staleness.mean());
}

TEST_F(Systems, SspReadsOnlyWhenItMust) {
  ServedSetup always = like("ssp");
  always.recipe.ps.fetch = Fetch();
  EXPECT_LT(run(like("ssp"), 4).messages, run(always, 4).messages * 0.9);
}

TEST_F(Systems, NobodyWaitsWhileTheSpreadIsWithinTheBound) {
  // Workers of one speed are never more than a step apart.
  ServedSetup free = like("ssp");
  free.recipe.ps.consistency = consistency::Async{};
  free.recipe.ps.fetch = Fetch();
  ServedSetup bound = free;
  bound.recipe.ps.consistency = consistency::Bounded(3);
  const auto last = [](const Run& r) { return r.steps.at(NodeId(1)).back(); };
  EXPECT_LE(last(run(bound, 4)), last(run(free, 4)) + 5ms);
}

TEST_F(Systems, OfThePushesThatWaitTheOneFurthestBehindGoesFirst) {
  // The server is slower than the workers: pushes pile up there.
  samples = 2400;
  update_ns = 2e5;
  const Run crowded = run(like("asgd"), 6, 3);
  EXPECT_LT(crowded.mean_wait(NodeId(6)), 0.7 * crowded.mean_wait(NodeId(1)));
}

// ---- dynsgd, consgd

TEST_F(Systems, LateUpdatesCountLessWithDynsgdAndItsLossIsLowerThanSsps) {
  samples = 1800;
  ServedSetup ssp = like("ssp");
  ssp.recipe.ps.fetch = Fetch();
  ssp.recipe.ps.consistency = consistency::Bounded(8);
  ssp.task.eta = 0.4;
  ServedSetup dynsgd = like("dynsgd");
  dynsgd.recipe.ps.consistency = consistency::Bounded(8);
  dynsgd.task.eta = 0.4;
  EXPECT_LT(loss(run(dynsgd, 6, 4)), loss(run(ssp, 6, 4)));
}

TEST_F(Systems, WithOneWorkerEveryWeightIsOne) {
  ServedSetup plain;
  plain.recipe.ps.consistency = consistency::Async{};
  const std::vector<float> expected = run(plain, 1).w;
  EXPECT_EQ(run(like("dynsgd"), 1).w, expected);
  EXPECT_EQ(run(like("consgd"), 1).w, expected);
}

// ---- dc-asgd

TEST_F(Systems, WithoutDelayDcAsgdIsSgdBitForBit) {
  ServedSetup plain;
  plain.recipe.ps.consistency = consistency::Async{};
  const std::vector<float> expected = run(plain, 1).w;
  EXPECT_EQ(run(like("dc-asgd"), 1).w, expected);
  ServedSetup adaptive = like("dc-asgd");
  adaptive.recipe.ps.compensation = compensation::Adaptive{2};
  EXPECT_EQ(run(adaptive, 1).w, expected);
}

TEST_F(Systems, LambdaIsWhatSetsDcAsgdApartFromAsgd) {
  ServedSetup none = like("dc-asgd");
  none.recipe.ps.compensation = compensation::Constant{0};
  EXPECT_EQ(run(none, 4).w, run(like("asgd"), 4).w);
  EXPECT_NE(run(like("dc-asgd"), 4).w, run(like("asgd"), 4).w);
}

// Measured by the distance to the result of SGD with one worker.
TEST_F(Systems, OnSoftmaxRegressionDcAsgdIsNearerToTheSequentialPath) {
  samples = 960;
  int nearer = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SoftmaxLearner softmax{Seed(seed)};
    learner = &softmax;
    ServedSetup asgd = like("asgd"), dc = like("dc-asgd");
    asgd.task.eta = dc.task.eta = 0.5;
    dc.recipe.ps.compensation = compensation::Constant{1};
    const std::vector<float> path = run(asgd, 1).w;
    const auto distance = [&](const Run& r) {
      double sum = 0;
      for (std::size_t i = 0; i < path.size(); ++i)
        sum += (r.w[i] - path[i]) * static_cast<double>(r.w[i] - path[i]);
      return sum;
    };
    if (distance(run(dc, 8)) < distance(run(asgd, 8))) ++nearer;
  }
  EXPECT_GE(nearer, 9);
}

// ---- async-momentum

// w(t+1) - w(t) = mu (w(t) - w(t-1)) - alpha (w(t) - optimum), fitted to the mean of many runs.
TEST_F(Systems, LateGradientsAreAMomentumOfOneMinusOneOverP) {
  constexpr std::size_t kWorkers = 4, kSteps = 60, kRuns = 200;
  samples = kSteps;
  problem.dimensions = Elements(4);
  problem.condition = 1;
  problem.noise = 0;
  const QuadraticLearner quadratic(problem);
  std::vector<double> sum(kSteps + 2, 0), seen(kSteps + 2, 0);
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    ServedJob job;
    job.task.samples = samples;
    job.problem = problem;
    job.take(like("asgd"));
    job.task.batch = 1;
    job.task.eta = 0.2;
    job.after_read = [&](std::uint64_t version, std::span<const float> w) {
      if (version >= sum.size()) return;
      sum[version] += (w[0] - quadratic.optimum()[0]) / -quadratic.optimum()[0];
      seen[version] += 1;
    };
    Cluster cluster = served_cluster(job, 1, kWorkers);
    for (HostModel& host : cluster.hosts) host.nic = {.latency = 1us, .bytes_per_s = 1e11};
    cluster.ns_per_element = {1e6, 1e6, 0, 0, 0, 0, 0, 0};
    cluster.stragglers.assign(1 + kWorkers, {Straggler::Kind::Exponential, 1});
    World world(cluster, {.seed = Seed(seed)});
    run_served(job, world);
  }
  double dd = 0, dw = 0, ww = 0, yd = 0, yw = 0;
  for (std::size_t t = 2; t + 1 < kSteps - kWorkers; ++t) {
    const auto w = [&](std::size_t i) { return sum[i] / seen[i]; };
    ASSERT_GT(seen[t + 1], kRuns / 2.0) << t;
    const double d = w(t) - w(t - 1), y = w(t + 1) - w(t);
    dd += d * d;
    dw += d * w(t);
    ww += w(t) * w(t);
    yd += y * d;
    yw += y * w(t);
  }
  const double mu = (yd * ww - yw * dw) / (dd * ww - dw * dw);
  EXPECT_NEAR(mu, 1 - 1.0 / kWorkers, 0.05);
}

TEST_F(Systems, AtManyWorkersALowerMomentumIsBetter) {
  samples = 4800;
  noise = 0.5;
  ServedSetup lowered = like("async-momentum");
  lowered.task.rule = parse_rule("momentum");
  lowered.task.eta = 0.05;
  ServedSetup alone = lowered;
  alone.recipe.ps.lower_momentum = false;
  EXPECT_LT(loss(run(lowered, 16)), loss(run(alone, 16)));
}

// ---- rudra

TEST_F(Systems, StalenessOfSoftsyncIsAboutN) {
  samples = 19'200;
  noise = 0.05;
  for (const std::uint64_t n : {1, 2, 4, 8}) {
    ServedSetup o = like("rudra");
    o.recipe.ps.consistency = consistency::Softsync(n);
    const Staleness s = run(o, 8).staleness;
    const auto expected = static_cast<double>(n);
    EXPECT_GE(s.mean(), 0.8 * expected) << n;
    EXPECT_LE(s.mean(), 1.2 * expected) << n;
    const std::uint64_t above = std::accumulate(s.bins.begin() + static_cast<long>(2 * n) + 1,
                                                s.bins.end(), std::uint64_t{0});
    EXPECT_LE(above * 1000, s.pushes) << n;
  }
}

TEST_F(Systems, SoftsyncOfAsManyAsThereAreWorkersIsAsynchronous) {
  ServedSetup soft = like("rudra"), async = like("asgd");
  soft.recipe.ps.consistency = consistency::Softsync(4);
  soft.task.eta = 4 * async.task.eta;  // It takes a step of eta / n.
  EXPECT_EQ(run(soft, 4).w, run(async, 4).w);
}

// ---- project-adam

TEST_F(Systems, PushedFactorsComeToWhatPushedGradientsDo) {
  SoftmaxLearner softmax{Seed(1)};
  learner = &softmax;
  ServedSetup factors = like("project-adam");
  factors.task.batch = 1;
  ServedSetup gradients = factors;
  gradients.recipe.ps.push = PushForm::Gradients;
  for (const std::size_t workers : {1, 4}) {
    const std::vector<float> expected = run(gradients, workers).w;
    const std::vector<float> formed = run(factors, workers).w;
    ASSERT_EQ(formed.size(), expected.size());
    for (std::size_t i = 0; i < formed.size(); ++i)
      EXPECT_NEAR(formed[i], expected[i], workers == 1 ? 1e-5 : 0.05) << i;
  }
}

// ---- Backup workers

TEST_F(Systems, OfAStepTheFirstWorkersCount) {
  ServedSetup o;
  o.recipe.ps.servers = 1;
  o.recipe.ps.consistency = parse_consistency("backup:1");
  const auto step_s = [](const Run& r) {
    const std::vector<Time>& done = r.steps.at(NodeId(1));
    return seconds(done[8] - done[2]) / 6;
  };
  const Run backup = run(o, 5, 5);
  EXPECT_EQ(backup.staleness.most, 0U);
  // The slow worker's are dropped while the others are at work: four pushes of each step count.
  EXPECT_LT(backup.staleness.pushes, 480U / 6);
  o.recipe.ps.consistency = parse_consistency("synchronous");
  const Run even = run(o, 5);
  const Run slow = run(o, 5, 5);
  EXPECT_LT(step_s(backup), 1.1 * step_s(even));
  EXPECT_GT(step_s(slow), 3 * step_s(even));
}

// ---- reject-stale, singa

TEST_F(Systems, WhatIsTooLateIsDroppedAndNeverApplied) {
  ServedSetup o = like("reject-stale");
  o.recipe.ps.consistency = consistency::Reject(1);
  const Run rejecting = run(o, 6);
  EXPECT_LE(rejecting.staleness.most, 1U);
  EXPECT_LT(rejecting.staleness.pushes, 480U / 6);
}

TEST_F(Systems, SingaIsInStepOrNotByOneSetting) {
  const Run in_step = run(like("singa"), 4);
  EXPECT_EQ(in_step.staleness.most, 0U);
  ServedSetup async = like("singa");
  async.recipe.ps.consistency = consistency::Async{};
  EXPECT_GT(run(async, 4).staleness.mean(), 1);
}

}  // namespace
}  // namespace shoal
