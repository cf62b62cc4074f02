// Properties of crossbow, and of elastic averaging with an adaptive rate (deepspark).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "decentral/decentral_job.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

// ---- crossbow

// The models of a worker.
struct Central {
  std::vector<float> z, before;
  Models w;
  std::vector<float> total() const {
    Models all = w;
    all.push_back(z);
    std::vector<float> sum = DecentralJob::mean(all);
    for (float& x : sum) x *= static_cast<float>(all.size());
    return sum;
  }
};

void average_centers(std::vector<Central>& workers) {
  Models z;
  for (const Central& worker : workers) z.push_back(worker.z);
  const std::vector<float> mean = DecentralJob::mean(z);
  for (Central& worker : workers) {
    DecentralJob::move(worker.before, 1, mean, worker.z);
    worker.z = mean;
  }
}

void move_center(Central& worker, const std::vector<float>& sum, float mu) {
  const std::vector<float> before = worker.z;
  for (std::size_t i = 0; i < sum.size(); ++i)
    worker.z[i] += sum[i] + mu * (worker.z[i] - worker.before[i]);
  worker.before = before;
}

// All rounds of an epoch, whose last one may be partial, at a fraction of the rate.
void central_epoch(const DecentralJob& job, std::vector<Central>& workers, double part,
                   std::uint64_t steps_of_epoch, DecentralJob::Steps& steps) {
  const std::uint32_t k = job.as<LearnersSettings>().learners;
  const auto mu = static_cast<float>(job.as<LearnersSettings>().block_momentum);
  std::uint64_t made = 0;
  while (made < steps_of_epoch) {
    Models sums(workers.size(), std::vector<float>(workers[0].z.size(), 0.0F));
    std::uint32_t j = 0;
    for (; j < k && made < steps_of_epoch; ++j, ++made) {
      Models w;
      for (const Central& worker : workers) w.push_back(worker.w[j]);
      const auto g = steps.gradients(w);
      for (std::size_t r = 0; r < workers.size(); ++r) {
        DecentralJob::move(sums[r], 1.0 / k, w[r], workers[r].z);
        const std::vector<float> at = w[r];
        DecentralJob::move(w[r], 1.0 / k, workers[r].z, at);
      }
      job.descend(w, *g, part);
      for (std::size_t r = 0; r < workers.size(); ++r) workers[r].w[j] = w[r];
    }
    for (std::size_t r = 0; r < workers.size(); ++r) move_center(workers[r], sums[r], mu);
    if (j == k) average_centers(workers);
  }
}

std::vector<Central> begin_central(const DecentralJob& job, std::size_t P) {
  const std::vector<float> zero = job.initial(1)[0];
  return std::vector<Central>(P, {zero, zero, Models(job.get("learners"), zero)});
}

TEST(Crossbow, EqualsItsOracle) {
  for (const std::size_t P : {1, 2, 3})
    for (const std::uint32_t k : {1U, 2U, 3U})
      for (const double mu : {0.0, 0.5}) {
        DecentralJob job = DecentralJob::like("crossbow");
        job.set("learners", k);
        job.set("block-momentum", mu);
        job.task.eta = 0.02;
        job.task.samples = 6 * P * 16;
        job.run(P);
        std::vector<Central> oracle = begin_central(job, P);
        DecentralJob::Steps steps(job);
        central_epoch(job, oracle, 1, 16, steps);
        for (std::uint32_t r = 0; r < P; ++r)
          DecentralJob::expect_near(job.models[NodeId(r)], oracle[r].z);
      }
}

TEST(Crossbow, LearnersBeginAtTheCenterAgainWhenTheRateDrops) {
  DecentralJob job = DecentralJob::like("crossbow");
  job.set("learners", 3);
  job.set("block-momentum", 0.5);
  job.task.eta = 0.02;
  job.task.epochs = 2;
  job.task.schedule = parse_schedule("step:1:0.1");
  job.task.samples = 6 * 2 * 16;
  job.run(2);
  const auto oracle_of = [&](bool anew) {
    std::vector<Central> oracle = begin_central(job, 2);
    DecentralJob::Steps steps(job);
    central_epoch(job, oracle, 1, 16, steps);
    for (Central& worker : oracle)
      if (anew) worker = {worker.z, worker.before, Models(3, worker.z)};
    central_epoch(job, oracle, 0.1, 16, steps);
    return oracle[0].z;
  };
  DecentralJob::expect_near(job.models[NodeId(0)], oracle_of(true));
  EXPECT_GT(std::abs(oracle_of(false)[0] - oracle_of(true)[0]), 1e-4);
}

TEST(Crossbow, CenterAndLearnersAddUpToWhatTheyDidWithoutGradientsAndMomentum) {
  DecentralJob job = DecentralJob::like("crossbow");
  job.set("learners", 3);
  job.set("block-momentum", 0);
  std::vector<Central> worker = begin_central(job, 1);
  DecentralJob::Steps steps(job);
  central_epoch(job, worker, 1, 20, steps);
  const std::vector<float> before = worker[0].total();
  DecentralJob::Steps rest(job);
  central_epoch(job, worker, 0, 20, rest);
  DecentralJob::expect_near(worker[0].total(), before, 1e-4);
}

TEST(Crossbow, ThroughputPicksTheNumberOfLearners) {
  const auto added = [](std::size_t P, Duration latency) {
    DecentralJob job = DecentralJob::like("crossbow");
    job.task.samples = 6 * P * 400;
    job.task.eta = 0.01;
    Cluster cluster = DecentralJob::cluster(P);
    for (auto& host : cluster.hosts) host.nic.latency = latency;
    World world(cluster, {.seed = kDecentralSeed});
    job.run(world, P);
    return job.outcome.probes["decentral: a learner more"] / P;
  };
  // For a single worker one learner is as good as two, which it tries. With expensive round ends
  // more are better.
  EXPECT_EQ(added(1, 1us), 1U);
  EXPECT_GT(added(3, 20ms), 2U);
}

// ---- deepspark

TEST(Deepspark, InStepEqualsAnOracleWhoseAlphaFollowsTheLoss) {
  DecentralJob job = DecentralJob::like("deepspark");
  job.set("pace", "sync");
  job.set("local-steps", 2);
  job.set("alpha", 0.2);
  job.set("center-rate", 0.2);
  job.task.epochs = 2;
  job.run(4);
  Models w = job.initial(4);
  std::vector<float> c = w[0];
  std::vector<double> pull(4, 1), loss(4, 0), at_meeting(4, 0);
  DecentralJob::Steps steps(job);
  for (std::uint64_t t = 0;; ++t) {
    const auto g = steps.gradients(w);
    if (!g) break;
    const std::vector<float> before = c;
    for (std::size_t r = 0; r < 4; ++r) {
      const double now = job.loss(w[r]);
      loss[r] = t == 0 ? now : 0.8 * loss[r] + 0.2 * now;
      if (t % 2 != 0) continue;
      if (at_meeting[r] > 0)
        pull[r] = std::clamp(loss[r] < at_meeting[r] ? pull[r] / 1.1 : pull[r] * 1.1, 0.5, 2.0);
      at_meeting[r] = loss[r];
      DecentralJob::move(c, 0.2, w[r], before);
      const std::vector<float> at = w[r];
      DecentralJob::move(w[r], 0.2 * pull[r], before, at);
    }
    job.descend(w, *g);
  }
  EXPECT_NE(pull[0], 1);
  DecentralJob::expect_near(job.results[NodeId(0)], c);
  for (std::uint32_t r = 0; r < 4; ++r) DecentralJob::expect_near(job.models[NodeId(r)], w[r]);
}

}  // namespace
}  // namespace shoal
