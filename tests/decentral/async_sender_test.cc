// Properties of the algorithms that send models without waiting: malt, tree-easgd, mpca-sgd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <utility>

#include "base/recorder.h"
#include "collective/topology.h"
#include "decentral/decentral_job.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

void slow_down_last(Cluster& cluster, double factor) {
  cluster.stragglers.resize(cluster.nodes.size());
  cluster.stragglers.back() = {Straggler::Kind::Constant, factor};
}

// ---- malt

Models scattering(const DecentralJob& job, std::size_t P) {
  const Graph graph = graph_of(job.topology(), P);
  Models w = job.initial(P);
  DecentralJob::Steps steps(job);
  for (std::uint64_t t = 1;; ++t) {
    const auto g = steps.gradients(w);
    if (!g) return w;
    job.descend(w, *g);
    if (t % job.get("local-steps") != 0) continue;
    const Models sent = w;
    for (std::uint32_t r = 0; r < P; ++r) {
      Models met = {sent[r]};
      for (std::size_t q = 0; q < P; ++q)
        if (std::ranges::count(graph[q], Rank(r)) > 0) met.push_back(sent[q]);
      w[r] = DecentralJob::mean(met);
    }
  }
}

TEST(Malt, InStepEqualsItsOracle) {
  for (const std::size_t P : {2, 5, 6}) {
    DecentralJob job = DecentralJob::like("malt");
    job.set("pace", "sync");
    job.set("local-steps", 2);
    job.task.epochs = 2;
    job.run(P);
    const Models oracle = scattering(job, P);
    for (std::uint32_t r = 0; r < P; ++r)
      DecentralJob::expect_near(job.models[NodeId(r)], oracle[r]);
    DecentralJob::expect_near(job.results[NodeId(0)], DecentralJob::mean(oracle));
  }
}

TEST(Malt, AModelGoesToAsManyOthersAsTheLogarithmOfTheirNumber) {
  const auto messages = [](std::size_t P, std::uint32_t tau) {
    DecentralJob job = DecentralJob::like("malt");
    job.task.samples = 6 * P * 10;
    job.set("pace", "sync");
    job.set("local-steps", tau);
    job.run(P);
    return job.outcome.messages;
  };
  for (const std::size_t P : {4, 5, 8})
    EXPECT_EQ(messages(P, 1) - messages(P, 10), 9 * P * std::bit_width(P - 1)) << P;
}

TEST(Malt, ASlowWorkerDoesNotStallOthers) {
  DecentralJob job = DecentralJob::like("malt");
  job.task.samples = 960;
  job.set("local-steps", 1);
  Cluster cluster = DecentralJob::cluster(4);
  slow_down_last(cluster, 10);
  World world(cluster, {.seed = kDecentralSeed});
  job.run(world, 4);
  EXPECT_GT(job.steps[NodeId(1)], 5 * job.steps[NodeId(3)]);
  EXPECT_EQ(job.applied[NodeId(1)], 960U);
}

TEST(Malt, ARateOfZeroBringsTheModelsTogether) {
  DecentralJob job = DecentralJob::like("malt");
  job.set("local-steps", 1);
  job.run_then_rest(4);
  const double apart = job.spread();
  job.rest_on(4);
  EXPECT_GT(apart, 1e-6);
  EXPECT_LT(job.spread(), 1e-3 * apart);
}

TEST(Malt, BehindASlowLinkFewerModelsAreSent) {
  const auto models = [](std::uint32_t tau) {
    DecentralJob job = DecentralJob::like("malt");
    job.set("local-steps", tau);
    Cluster cluster = Cluster::uniform(4, {.latency = 100us, .bytes_per_s = 2e4});
    cluster.ns_per_element = DecentralJob::cluster(4).ns_per_element;
    cluster.completion = Completion::WhenMatched;
    Recorder recorder;
    ModelsBetween between;
    recorder.observe(between);
    World world(cluster, {.seed = kDecentralSeed, .recorder = &recorder});
    job.run(world, 4);
    std::uint64_t all = 0;
    for (const auto& [edge, count] : between.sent) all += count;
    return all;
  };
  // 10 steps each: not every step has sent its model to both others.
  EXPECT_LT(models(1), 10U * 4 * 2);
  EXPECT_EQ(models(1000), 0U);
}

// ---- tree-easgd

Models tree(const DecentralJob& job, std::size_t P) {
  const auto& p = job.as<TreeSettings>();
  Models w = job.initial(P);
  DecentralJob::Steps steps(job);
  for (std::uint64_t t = 1;; ++t) {
    const auto g = steps.gradients(w);
    if (!g) return w;
    job.descend(w, *g);
    const Models sent = w;
    for (std::size_t r = 0; r < P; ++r) {
      if (t % p.local_steps_down == 0 && r > 0)
        DecentralJob::move(w[r], p.alpha, sent[(r - 1) / 2], w[r]);
      for (std::size_t child = 2 * r + 1; child <= 2 * r + 2; ++child)
        if (t % p.local_steps == 0 && child < P)
          DecentralJob::move(w[r], p.alpha, sent[child], w[r]);
    }
  }
}

TEST(TreeEasgd, InStepEqualsItsOracleAndTheResultIsTheRoot) {
  for (const std::size_t P : {1, 2, 6}) {
    DecentralJob job = DecentralJob::like("tree-easgd");
    job.set("pace", "sync");
    job.set("local-steps", 2);
    job.set("local-steps-down", 3);
    job.set("alpha", 0.3);
    job.task.epochs = 2;
    job.run(P);
    const Models oracle = tree(job, P);
    for (std::uint32_t r = 0; r < P; ++r) {
      DecentralJob::expect_near(job.models[NodeId(r)], oracle[r]);
      DecentralJob::expect_near(job.results[NodeId(r)], oracle[0]);
    }
  }
}

TEST(TreeEasgd, AlphaOfZeroIsIndependentSgd) {
  DecentralJob job = DecentralJob::like("tree-easgd");
  job.set("pace", "sync");
  job.set("alpha", 0);
  job.run(3);
  Models w = job.initial(3);
  DecentralJob::Steps steps(job);
  while (const auto g = steps.gradients(w)) job.descend(w, *g);
  for (std::uint32_t r = 0; r < 3; ++r) DecentralJob::expect_near(job.models[NodeId(r)], w[r]);
}

TEST(TreeEasgd, MessagesGoAlongEdgesAloneUpEveryTauAndDownEveryTauDown) {
  DecentralJob job = DecentralJob::like("tree-easgd");
  job.set("pace", "sync");
  job.set("local-steps", 2);
  job.set("local-steps-down", 5);
  job.task.samples = 6 * 6 * 10;
  Recorder recorder;
  ModelsBetween between;
  recorder.observe(between);
  World world(DecentralJob::cluster(6), {.seed = kDecentralSeed, .recorder = &recorder});
  job.run(world, 6);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> edges;
  for (std::uint64_t r = 1; r < 6; ++r) {
    edges[{r, (r - 1) / 2}] = 5;
    edges[{(r - 1) / 2, r}] = 2;
  }
  EXPECT_EQ(between.sent, edges);
}

TEST(TreeEasgd, ARateOfZeroContracts) {
  DecentralJob job = DecentralJob::like("tree-easgd");
  job.set("local-steps", 1);
  job.task.samples = 480;
  job.run_then_rest(5);
  const double apart = job.spread();
  job.rest_on(5);
  EXPECT_GT(apart, 1e-6);
  EXPECT_LT(job.spread(), 0.01 * apart);
}

TEST(TreeEasgd, ASlowWorkerDoesNotStallOthers) {
  DecentralJob job = DecentralJob::like("tree-easgd");
  job.task.samples = 960;
  Cluster cluster = DecentralJob::cluster(4);
  slow_down_last(cluster, 10);
  World world(cluster, {.seed = kDecentralSeed});
  job.run(world, 4);
  EXPECT_GT(job.steps[NodeId(1)], 5 * job.steps[NodeId(3)]);
}

// ---- mpca-sgd

Models drawn(const DecentralJob& job, std::size_t P) {
  const auto& p = job.as<MasterSettings>();
  Models w = job.initial(P);
  std::vector<float> before = w[0];
  std::vector<float> ahead = w[0];
  Models sent;
  const auto follow = [&] {
    const std::vector<float> mean = DecentralJob::mean(sent);
    ahead = mean;
    DecentralJob::move(ahead, p.extrapolate, mean, before);
    before = mean;
    for (std::size_t r = 0; r < P; ++r) DecentralJob::move(w[r], 1, ahead, sent[r]);
    sent.clear();
  };
  DecentralJob::Steps steps(job);
  for (std::uint64_t t = 1;; ++t) {
    auto g = steps.gradients(w);
    if (!g) break;
    for (std::size_t r = 0; r < P; ++r) DecentralJob::move((*g)[r], p.penalty, w[r], ahead);
    job.descend(w, *g);
    if (t % p.local_steps != 0) continue;
    if (!sent.empty()) follow();
    sent = w;
  }
  if (!sent.empty()) follow();
  return w;
}

TEST(MpcaSgd, EqualsItsOracle) {
  DecentralJob job = DecentralJob::like("mpca-sgd");
  job.set("pace", "sync");
  job.set("local-steps", 3);
  job.set("penalty", 0.5);
  job.set("extrapolate", 0.25);
  job.run(4);
  const Models oracle = drawn(job, 4);
  for (std::uint32_t r = 0; r < 4; ++r) DecentralJob::expect_near(job.models[NodeId(r)], oracle[r]);
  DecentralJob::expect_near(job.results[NodeId(0)], DecentralJob::mean(oracle));
}

TEST(MpcaSgd, WithoutPenaltyAndExtrapolationIsAveragingOneExchangeLate) {
  DecentralJob job = DecentralJob::like("mpca-sgd");
  job.recipe.algorithm = MasterSettings{.local_steps = 4};
  job.task.samples = 480;
  job.run(4);
  Models w = job.initial(4);
  Models copied;
  DecentralJob::Steps steps(job);
  const auto meet = [&] {
    const std::vector<float> mean = DecentralJob::mean(copied);
    for (std::size_t r = 0; r < 4; ++r) DecentralJob::move(w[r], 1, mean, copied[r]);
  };
  for (std::uint64_t t = 1;; ++t) {
    const auto g = steps.gradients(w);
    if (!g) break;
    job.descend(w, *g);
    if (t % 4 != 0) continue;
    if (!copied.empty()) meet();
    copied = w;
  }
  meet();
  for (std::uint32_t r = 0; r < 4; ++r) DecentralJob::expect_near(job.models[NodeId(r)], w[r]);
}

TEST(MpcaSgd, TrainingNeverWaits) {
  const auto waits = [](const char* system) {
    DecentralJob job = DecentralJob::like(system);
    if (job.has("pace")) job.set("pace", "sync");
    job.set("local-steps", 1);
    Cluster cluster = DecentralJob::cluster(4);
    for (auto& host : cluster.hosts) host.nic.latency = 50ms;
    World world(cluster, {.seed = kDecentralSeed});
    job.run(world, 4);
    return job.waits[NodeId(1)];
  };
  EXPECT_GT(waits("sparknet"), Duration(500ms));
  EXPECT_LT(waits("mpca-sgd"), Duration(5ms));
}

}  // namespace
}  // namespace shoal
