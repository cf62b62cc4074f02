// Properties of algorithms whose workers send each other gradients: ako, dogwild.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decentral/decentral_job.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

std::vector<float> sum_of(const Models& models) {
  std::vector<float> sum = DecentralJob::mean(models);
  for (float& x : sum) x *= static_cast<float>(models.size());
  return sum;
}

// ---- ako

TEST(Ako, OnePartInStepIsSynchronousSgd) {
  DecentralJob job = DecentralJob::like("ako");
  job.set("pace", "sync");
  job.set("partitions", 1);
  job.run(4);
  Models w = job.initial(1);
  DecentralJob one = DecentralJob::like("ako");
  one.task.batch = 24;
  DecentralJob::Steps steps(one);
  while (const auto g = steps.gradients(w)) one.descend(w, *g);
  for (std::uint32_t r = 0; r < 4; ++r) DecentralJob::expect_near(job.models[NodeId(r)], w[0]);
}

// Every worker has, for every other one, a queue of summed gradients; each step sends and clears
// one part.
Models partial(const DecentralJob& job, std::size_t P, std::size_t p) {
  Models w = job.initial(P);
  const std::size_t N = w[0].size();
  std::vector<Models> queued(P, job.initial(P));
  const auto part = [&](std::size_t i) {
    const std::size_t longer = N % p * (N / p + 1);
    return i < longer ? i / (N / p + 1) : N % p + (i - longer) / (N / p);
  };
  const auto round = [&](std::uint64_t t, const Models& own) {
    Models g = own;
    for (std::size_t r = 0; r < P; ++r)
      for (std::size_t d = 1; d < P; ++d) {
        const std::size_t to = (r + d) % P;
        for (std::size_t i = 0; i < N; ++i) {
          queued[r][to][i] += own[r][i];
          if (part(i) != (t + d) % p) continue;
          g[to][i] += queued[r][to][i];
          queued[r][to][i] = 0;
        }
      }
    job.descend(w, g, 1 / static_cast<double>(P));
  };
  DecentralJob::Steps steps(job);
  std::uint64_t t = 0;
  for (; const auto g = steps.gradients(w); ++t) round(t, *g);
  for (std::size_t rest = 1; rest < p; ++rest, ++t) round(t, job.initial(P));
  return w;
}

TEST(Ako, InStepEqualsItsOracle) {
  for (const std::uint32_t p : {2U, 3U, 7U}) {
    DecentralJob job = DecentralJob::like("ako");
    job.set("pace", "sync");
    job.set("partitions", p);
    job.run(4);
    const Models oracle = partial(job, 4, p);
    for (std::uint32_t r = 0; r < 4; ++r)
      DecentralJob::expect_near(job.models[NodeId(r)], oracle[r]);
  }
}

TEST(Ako, EachGradientReachesEachPeerExactlyOnce) {
  // At any pace: with plain SGD, in the end all models have moved by the same gradients.
  for (const std::uint32_t p : {0U, 1U, 2U, 9U}) {
    DecentralJob job = DecentralJob::like("ako");
    job.set("partitions", p);
    job.task.samples = 480;
    Cluster cluster = DecentralJob::cluster(5);
    cluster.stragglers.resize(5);
    cluster.stragglers.back() = {Straggler::Kind::Constant, 4};
    World world(cluster, {.seed = kDecentralSeed});
    job.run(world, 5);
    EXPECT_GT(job.steps[NodeId(0)], 2 * job.steps[NodeId(4)]);
    for (std::uint32_t r = 1; r < 5; ++r)
      DecentralJob::expect_near(job.models[NodeId(r)], job.models[NodeId(0)]);
  }
}

TEST(Ako, BytesAStepAreFlatInTheNumberOfWorkers) {
  const auto bytes = [](std::size_t P, std::uint64_t steps) {
    DecentralJob job = DecentralJob::like("ako");
    job.set("pace", "sync");
    job.problem.dimensions = Elements(8400);
    job.task.samples = 6 * P * steps;
    job.run(P);
    return static_cast<double>(job.sent[NodeId(1)].value());
  };
  // The whole model once a step; the remaining bytes tell which samples were trained on.
  const double model = 8400 * 4;
  for (const std::size_t P : {3, 5, 8})
    EXPECT_NEAR((bytes(P, 20) - bytes(P, 10)) / 10, model, 0.01 * model) << P;
}

// ---- dogwild

TEST(Dogwild, WithoutLossesGradientsOfOthersAreOneStepLate) {
  DecentralJob job = DecentralJob::like("dogwild");
  job.set("pace", "sync");
  job.problem.dimensions = Elements(500);
  // Sending a gradient takes less than a step, and much longer than the workers' starts differ.
  Cluster cluster = Cluster::uniform(4, {.latency = 10us, .bytes_per_s = 1e6});
  cluster.ns_per_element = DecentralJob::cluster(4).ns_per_element;
  World world(cluster, {.seed = kDecentralSeed});
  job.run(world, 4);
  Models w = job.initial(4);
  Models before = job.initial(4);
  const auto of_others = [&](Models own) {
    const std::vector<float> sum = sum_of(before);
    for (std::size_t r = 0; r < 4; ++r) DecentralJob::move(own[r], 1, sum, before[r]);
    return own;
  };
  DecentralJob::Steps steps(job);
  while (const auto g = steps.gradients(w)) {
    job.descend(w, of_others(*g), 0.25);
    before = *g;
  }
  job.descend(w, of_others(job.initial(4)), 0.25);
  for (std::uint32_t r = 0; r < 4; ++r) DecentralJob::expect_near(job.models[NodeId(r)], w[r]);
}

TEST(Dogwild, ConvergesWithOneMessageInAHundredLost) {
  const auto trained = [](double chance) {
    DecentralJob job = DecentralJob::like("dogwild");
    job.set("drop-probability", chance);
    job.task.samples = 2400;
    job.task.epochs = 3;
    job.run(4);
    EXPECT_LT(job.loss(job.results[NodeId(0)]), 0.05 * job.loss(job.initial(1)[0])) << chance;
    return job;
  };
  const DecentralJob whole = trained(0);
  const DecentralJob lossy = trained(0.01);
  EXPECT_LT(lossy.outcome.messages, whole.outcome.messages);
  EXPECT_GT(lossy.spread(), whole.spread());
}

TEST(Dogwild, WhenAllIsLostEveryoneTrainsAlone) {
  DecentralJob job = DecentralJob::like("dogwild");
  job.set("pace", "sync");
  job.set("drop-probability", 1);
  job.run(4);
  Models w = job.initial(4);
  DecentralJob::Steps steps(job);
  while (const auto g = steps.gradients(w)) job.descend(w, *g, 0.25);
  for (std::uint32_t r = 0; r < 4; ++r) DecentralJob::expect_near(job.models[NodeId(r)], w[r]);
}

TEST(Dogwild, ARandomPeerGetsEachGradient) {
  const auto messages = [](const char* topology, double chance) {
    DecentralJob job = DecentralJob::like("dogwild");
    job.set("pace", "sync");
    job.set("topology", topology);
    job.set("drop-probability", chance);
    job.run(4);
    return job.outcome.messages;
  };
  // 10 steps of 4 workers.
  EXPECT_EQ(messages("random", 0) - messages("random", 1), 10U * 4);
  EXPECT_EQ(messages("complete", 0) - messages("complete", 1), 10U * 4 * 3);
}

TEST(Dogwild, ASlowWorkerDoesNotStallOthers) {
  DecentralJob job = DecentralJob::like("dogwild");
  job.task.samples = 960;
  Cluster cluster = DecentralJob::cluster(4);
  cluster.stragglers.resize(4);
  cluster.stragglers.back() = {Straggler::Kind::Constant, 10};
  World world(cluster, {.seed = kDecentralSeed});
  job.run(world, 4);
  EXPECT_GT(job.steps[NodeId(1)], 5 * job.steps[NodeId(3)]);
}

}  // namespace
}  // namespace shoal
