// Properties of algorithms whose models meet in step: each equals an oracle without a network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>

#include "collective/topology.h"
#include "decentral/decentral_job.h"
#include "recipe/registry.h"

namespace shoal {
namespace {

DecentralJob like(const char* name) {
  DecentralJob job;
  job.recipe.algorithm = std::get<Decentral>(find_system(name).recipe).algorithm;
  return job;
}

// ---- sparknet

Models averaging(const DecentralJob& job, std::size_t P) {
  Models w = job.initial(P);
  DecentralJob::Steps steps(job);
  for (std::uint64_t t = 1;; ++t) {
    const auto g = steps.gradients(w);
    if (!g) return w;
    job.descend(w, *g);
    if (t % job.get("local-steps") == 0) w.assign(P, DecentralJob::mean(w));
  }
}

TEST(Sparknet, TauOfOneWithPlainSgdIsSynchronousSgd) {
  DecentralJob job = like("sparknet");
  job.set("local-steps", 1);
  job.run(4);
  Models w = job.initial(1);
  DecentralJob one = like("sparknet");
  one.task.batch = 24;
  DecentralJob::Steps steps(one);
  while (const auto g = steps.gradients(w)) one.descend(w, *g);
  DecentralJob::expect_near(job.results[NodeId(0)], w[0]);
}

TEST(Sparknet, EqualsItsOracle) {
  for (const std::uint32_t tau : {2U, 3U, 10U}) {
    DecentralJob job = like("sparknet");
    job.task.epochs = 2;
    job.set("local-steps", tau);
    job.run(3);
    const Models oracle = averaging(job, 3);
    DecentralJob::expect_near(job.results[NodeId(1)], DecentralJob::mean(oracle));
    for (std::uint32_t r = 0; r < 3; ++r)
      DecentralJob::expect_near(job.models[NodeId(r)], oracle[r]);
  }
}

TEST(Sparknet, SendsItsModelOnceInTauSteps) {
  DecentralJob often = like("sparknet");
  often.set("local-steps", 1);
  often.run(4);
  DecentralJob seldom = like("sparknet");
  seldom.set("local-steps", 5);
  seldom.run(4);
  // 10 steps; each meeting sends 2 (P - 1) messages per worker.
  EXPECT_EQ(often.outcome.messages - seldom.outcome.messages, (10U - 2) * 4 * 6);
}

TEST(Sparknet, LateKeepsTheStepsInBetween) {
  for (const std::size_t P : {1U, 2U, 4U}) {
    DecentralJob job = like("sparknet");
    job.recipe.algorithm = AverageSettings{.local_steps = 3, .overlap_steps = 2};
    job.task.samples = 10 * P * job.task.batch;
    job.run(P);
    Models w = job.initial(P);
    Models copied;
    const auto meet = [&] {
      const std::vector<float> mean = DecentralJob::mean(copied);
      for (std::size_t r = 0; r < P; ++r)
        for (std::size_t i = 0; i < mean.size(); ++i) w[r][i] += mean[i] - copied[r][i];
    };
    DecentralJob::Steps steps(job);
    for (std::uint64_t t = 1;; ++t) {
      const auto g = steps.gradients(w);
      if (!g) break;
      job.descend(w, *g);
      if (t % 3 == 0) copied = w;
      if (t % 3 == 2 && !copied.empty()) meet();
    }
    meet();  // 10 steps: the meeting of step 9 is under way, and ends with the epoch.
    DecentralJob::expect_near(job.results[NodeId(0)], DecentralJob::mean(w));
    for (std::uint32_t r = 0; r < P; ++r) DecentralJob::expect_near(job.models[NodeId(r)], w[r]);
  }
}

// Late or at once, each of the two sends its whole model and nothing else.
TEST(Sparknet, TwoSwapTheirModels) {
  for (const std::uint32_t late : {0U, 2U}) {
    const auto bytes = [&](std::uint32_t tau) {
      DecentralJob job = like("sparknet");
      job.problem.dimensions = Elements(5000);
      job.recipe.algorithm = AverageSettings{.local_steps = tau, .overlap_steps = late};
      job.run(2);
      return static_cast<double>(job.sent[NodeId(0)].value());
    };
    // 20 steps each.
    const double model = 5000 * sizeof(float);
    EXPECT_NEAR(bytes(4) - bytes(10), (5 - 2) * model, 0.02 * model);
  }
}

TEST(ParallelSgd, IsTheMeanOfModelsTrainedAlone) {
  DecentralJob job = like("parallel-sgd");
  job.run(4);
  Models w = job.initial(4);
  DecentralJob::Steps steps(job);
  while (const auto g = steps.gradients(w)) job.descend(w, *g);
  DecentralJob::expect_near(job.results[NodeId(2)], DecentralJob::mean(w));
}

// ---- bmuf, diloco

std::vector<float> block(const DecentralJob& job, std::size_t P) {
  const auto& p = job.as<BlockSettings>();
  const auto zeta = static_cast<float>(p.block_rate);
  const auto eta_b = static_cast<float>(block_momentum(p.block_momentum, P));
  Models w = job.initial(P);
  std::vector<float> W = w[0];   // the papers' own form, with W and D separate
  std::vector<float> began = W;  // the model with which all began the block
  std::vector<float> D(W.size(), 0.0F);
  DecentralJob::Steps steps(job);
  for (std::uint64_t t = 1;; ++t) {
    const auto g = steps.gradients(w);
    if (!g) return DecentralJob::mean(w);
    job.descend(w, *g);
    if (t % p.local_steps != 0) continue;
    const std::vector<float> mean = DecentralJob::mean(w);
    for (std::size_t i = 0; i < W.size(); ++i) {
      D[i] = eta_b * D[i] + zeta * (mean[i] - began[i]);
      W[i] += D[i];
      began[i] = p.block_nesterov ? W[i] + eta_b * D[i] : W[i];
    }
    w.assign(P, began);
  }
}

TEST(Bmuf, EqualsItsOracleInBothForms) {
  for (const bool nesterov : {false, true}) {
    DecentralJob job = like("bmuf");
    job.task.epochs = 3;
    job.set("local-steps", 4);
    job.set("block-rate", 0.8);
    job.set("block-nesterov", nesterov);
    job.run(3);
    DecentralJob::expect_near(job.results[NodeId(0)], block(job, 3));
  }
}

TEST(Bmuf, WithoutMomentumAndWithRateOneIsAveraging) {
  DecentralJob job = like("bmuf");
  job.set("block-momentum", 0);
  job.set("local-steps", 5);
  job.run(4);
  DecentralJob plain = like("sparknet");
  plain.set("local-steps", 5);
  plain.run(4);
  DecentralJob::expect_near(job.results[NodeId(0)], plain.results[NodeId(0)], 1e-6);
}

TEST(Diloco, WithOuterRateOneAndNoMomentumIsSparknet) {
  DecentralJob job = like("diloco");
  job.set("local-steps", 5);
  job.set("block-rate", 1);
  job.set("block-momentum", 0);
  job.run(4);
  DecentralJob plain = like("sparknet");
  plain.set("local-steps", 5);
  plain.run(4);
  DecentralJob::expect_near(job.results[NodeId(0)], plain.results[NodeId(0)], 1e-6);
}

TEST(Diloco, MomentumChangesTheResult) {
  DecentralJob job = like("diloco");
  job.set("local-steps", 2);
  job.run(4);
  DecentralJob::expect_near(job.results[NodeId(0)], block(job, 4));
  DecentralJob plain = like("sparknet");
  plain.set("local-steps", 2);
  plain.run(4);
  EXPECT_NE(job.results[NodeId(0)], plain.results[NodeId(0)]);
}

// ---- easgd

struct Elastic {
  Models w;
  std::vector<float> c;
};
Elastic elastic(const DecentralJob& job, std::size_t P) {
  const auto& p = job.as<ElasticSettings>();
  const auto alpha = static_cast<float>(elastic_alpha(p, P));
  const auto beta = static_cast<float>(center_rate(p, P));
  Elastic e{job.initial(P), {}};
  e.c = e.w[0];
  DecentralJob::Steps steps(job);
  for (std::uint64_t t = 0;; ++t) {
    const auto g = steps.gradients(e.w);
    if (!g) return e;
    const std::vector<float> before = e.c;
    for (std::size_t r = 0; r < P && t % p.local_steps == 0; ++r)
      for (std::size_t i = 0; i < before.size(); ++i) {
        const float d = e.w[r][i] - before[i];
        e.w[r][i] -= alpha * d;
        e.c[i] += beta * d;
      }
    job.descend(e.w, *g);
  }
}

TEST(Easgd, InStepEqualsItsOracle) {
  DecentralJob job = like("easgd");
  job.set("pace", "sync");
  job.set("local-steps", 3);
  job.set("alpha", 0.3);
  job.set("center-rate", 0.2);
  job.task.epochs = 2;
  job.run(4);
  const Elastic oracle = elastic(job, 4);
  DecentralJob::expect_near(job.results[NodeId(3)], oracle.c);
  for (std::uint32_t r = 0; r < 4; ++r)
    DecentralJob::expect_near(job.models[NodeId(r)], oracle.w[r]);
}

TEST(Easgd, LateKeepsTheStepsInBetween) {
  for (const std::size_t P : {2U, 4U}) {
    DecentralJob job = like("easgd");
    job.set("pace", "sync");
    job.set("local-steps", 3);
    job.set("overlap-steps", 2);
    job.set("alpha", 0.3);
    job.set("center-rate", 0.2);
    job.task.samples = 10 * P * job.task.batch;
    job.run(P);
    Elastic e{job.initial(P), job.initial(1)[0]};
    Models sent;
    const auto meet = [&] {
      const std::vector<float> before = e.c;
      for (std::size_t r = 0; r < sent.size(); ++r)
        for (std::size_t i = 0; i < before.size(); ++i) {
          e.w[r][i] -= 0.3F * (sent[r][i] - before[i]);
          e.c[i] += 0.2F * (sent[r][i] - before[i]);
        }
      sent.clear();
    };
    DecentralJob::Steps steps(job);
    for (std::uint64_t t = 0;; ++t) {
      const auto g = steps.gradients(e.w);
      if (!g) break;
      if (t % 3 == 0) sent = e.w;
      if (t % 3 == 2) meet();
      job.descend(e.w, *g);
    }
    meet();  // 10 steps: the meeting of step 9 ends with the epoch
    DecentralJob::expect_near(job.results[NodeId(P - 1)], e.c);
    for (std::uint32_t r = 0; r < P; ++r) DecentralJob::expect_near(job.models[NodeId(r)], e.w[r]);
  }
}

// Questions for samples queue behind the model, which takes four steps to send.
TEST(Easgd, AQuestionBehindAModelHoldsNobodyUp) {
  DecentralJob job = like("easgd");
  job.task.samples = 6 * 2 * 100;
  job.set("local-steps", 10);
  job.set("overlap-steps", 9);
  const LinkModel slow{.latency = std::chrono::microseconds(100), .bytes_per_s = 4000};
  Cluster cluster = Cluster::uniform(2, slow);
  cluster.ns_per_element = DecentralJob::cluster(2).ns_per_element;
  World world(std::move(cluster), {.seed = kDecentralSeed});
  job.run(world, 2);
  // Steps of 15 ms. The worker waits in the first meetings, until it asks far enough ahead.
  EXPECT_LT(seconds(job.waits[NodeId(1)]), 0.3);
  // Neither worker does much more than the other: near the end they do not ask ahead.
  EXPECT_NEAR(static_cast<double>(job.steps[NodeId(1)]), 100, 10);
}

TEST(Easgd, LateAtTheirOwnPaceTheExchangeTakesNoTime) {
  std::map<std::uint32_t, Duration> took;
  for (const std::uint32_t late : {0U, 4U}) {
    DecentralJob job = like("easgd");
    job.set("local-steps", 5);
    job.set("overlap-steps", late);
    job.task.epochs = 2;
    const LinkModel slow{.latency = std::chrono::milliseconds(5), .bytes_per_s = 1e8};
    Cluster cluster = Cluster::uniform(3, slow);
    cluster.ns_per_element = DecentralJob::cluster(3).ns_per_element;
    World world(std::move(cluster), {.seed = kDecentralSeed});
    job.run(world, 3);
    took[late] = job.outcome.end.time_since_epoch();
    const std::vector<float>& w = job.results[NodeId(0)];
    EXPECT_LT(job.loss(w), 0.8 * job.loss(std::vector<float>(w.size(), 0.0F)));
  }
  // With five meetings, two transfers of 5 ms each, and more; a single meeting per epoch costs only
  // at its end.
  EXPECT_GT((took[0] - took[4]).count(), Duration(std::chrono::milliseconds(30)).count());
}

TEST(Easgd, AlphaOfZeroIsIndependentSgd) {
  for (const bool in_step : {true, false}) {
    DecentralJob job = like("easgd");
    job.set("pace", in_step ? "sync" : "async");
    job.set("alpha", 0);
    job.set("center-rate", 0.1);
    job.set("local-steps", 1);
    job.run(4);
    Models w = job.initial(4);
    DecentralJob::Steps steps(job);
    while (const auto g = steps.gradients(w)) job.descend(w, *g);
    // Asynchronous workers of equal speed get shares in the same order.
    for (std::uint32_t r = 0; in_step && r < 4; ++r)
      DecentralJob::expect_near(job.models[NodeId(r)], w[r]);
    EXPECT_LT(job.loss(job.results[NodeId(0)]), job.loss(w[0]) * 20);
  }
}

TEST(Easgd, AnExchangeConservesBetaTimesTheModelsAndAlphaTimesTheCenter) {
  for (const bool in_step : {true, false}) {
    DecentralJob job = like("easgd");
    job.set("pace", in_step ? "sync" : "async");
    job.set("alpha", 0.2);
    job.set("center-rate", 0.1);
    job.set("local-steps", 1);
    const auto conserved = [&] {
      std::vector<float> sum(job.problem.dimensions.value(), 0.0F);
      for (const auto& [node, w] : job.models)
        for (std::size_t i = 0; i < w.size(); ++i) sum[i] += 0.1F * w[i];
      const std::vector<float>& c = job.results[NodeId(0)];
      for (std::size_t i = 0; i < c.size(); ++i) sum[i] += 0.2F * c[i];
      return sum;
    };
    job.run_then_rest(4);
    const std::vector<float> before = conserved();
    const double apart = job.spread();
    job.rest_on(4);
    DecentralJob::expect_near(conserved(), before);
    EXPECT_GT(apart, 1e-3);
    EXPECT_LT(job.spread(), 0.1 * apart);
  }
}

TEST(Easgd, AtTheirOwnPaceASlowWorkerStallsNobody) {
  const auto waits_of = [](double slow) {
    DecentralJob job = like("easgd");
    job.task.samples = 960;
    Cluster cluster = DecentralJob::cluster(4);
    cluster.stragglers.resize(4);
    if (slow > 1) cluster.stragglers.back() = {Straggler::Kind::Constant, slow};
    World world(cluster, {.seed = kDecentralSeed});
    job.run(world, 4);
    EXPECT_EQ(job.applied[NodeId(1)], 960U);
    return std::pair(job.steps[NodeId(1)], job.steps[NodeId(3)]);
  };
  const auto [fast, last] = waits_of(10);
  EXPECT_GT(fast, 5 * last);
  const auto [even, same] = waits_of(1);
  EXPECT_NEAR(static_cast<double>(even), static_cast<double>(same), 2);
}

// ---- d-psgd, butterfly-sgd

Models neighbours(const DecentralJob& job, std::size_t P) {
  Models w = job.initial(P);
  DecentralJob::Steps steps(job);
  for (std::uint64_t t = 0;; ++t) {
    const auto g = steps.gradients(w);
    if (!g) return w;
    const Mixing W = metropolis(graph_of(job.topology(), P, kDecentralSeed, t));
    Models mixed(P, std::vector<float>(w[0].size(), 0.0F));
    for (std::size_t r = 0; r < P; ++r)
      for (std::size_t q = 0; q < P; ++q)
        for (std::size_t i = 0; i < w[0].size(); ++i)
          mixed[r][i] += static_cast<float>(W[r][q]) * w[q][i];
    w = mixed;
    job.descend(w, *g);
  }
}

TEST(DPsgd, EqualsItsOracleOnAnySymmetricTopology) {
  for (const char* const name : {"ring", "chain", "torus", "tree", "complete", "hypercube"}) {
    DecentralJob job = like("d-psgd");
    job.set("topology", name);
    job.run(5);
    const Models oracle = neighbours(job, 5);
    for (std::uint32_t r = 0; r < 5; ++r)
      DecentralJob::expect_near(job.models[NodeId(r)], oracle[r]);
  }
}

TEST(DPsgd, SendsAsManyMessagesANodeWhateverTheNumberOfWorkers) {
  const auto messages = [](std::size_t P, std::uint32_t tau) {
    DecentralJob job = like("d-psgd");
    job.task.samples = 6 * P * 10;
    job.set("local-steps", tau);
    job.run(P);
    return job.outcome.messages;
  };
  // 10 exchanges in 10 steps, or one.
  for (const std::size_t P : {4, 8}) EXPECT_EQ(messages(P, 1) - messages(P, 10), 9 * 2 * P);
}

TEST(DPsgd, ConsensusErrorShrinksByTheRingsEigenvalueAtARateOfZero) {
  DecentralJob job = like("d-psgd");
  job.run_then_rest(8);
  const double apart = job.spread();
  Models all;
  for (const auto& [node, w] : job.models) all.push_back(w);
  const std::vector<float> mean = DecentralJob::mean(all);
  job.rest_on(8);
  const double steps = static_cast<double>(job.task.samples) / 8 / 6;
  const double factor = (1 + 2 * std::cos(2 * std::numbers::pi / 8)) / 3;
  EXPECT_LT(job.spread(), apart * std::pow(factor, 2 * std::floor(steps)) * 1.01);
  DecentralJob::expect_near(job.results[NodeId(0)], mean);
}

TEST(ButterflySgd, AfterLog2PStepsEveryUpdateHasMetEveryWorker) {
  // A mean over all: after log2 P steps at rate zero all models are equal, for any initial models.
  Models w(8, std::vector<float>(1));
  for (std::size_t r = 0; r < 8; ++r) w[r][0] = static_cast<float>(r * r);
  const float mean = DecentralJob::mean(w)[0];
  for (std::uint64_t t = 0; t < 3; ++t) {
    const Mixing W = metropolis(graph_of(topology::Hypercube{}, 8, Seed(0), t));
    Models mixed(8, std::vector<float>(1, 0.0F));
    for (std::size_t r = 0; r < 8; ++r)
      for (std::size_t q = 0; q < 8; ++q) mixed[r][0] += static_cast<float>(W[r][q]) * w[q][0];
    w = mixed;
  }
  for (const std::vector<float>& one : w) EXPECT_NEAR(one[0], mean, 1e-5);
}

}  // namespace
}  // namespace shoal
