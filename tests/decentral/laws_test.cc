// Laws of models that meet: conserved quantities under losses, which workers wait, the motion of
// the mean; and oracles of the algorithms that meet at random.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "collective/topology.h"
#include "decentral/decentral_job.h"
#include "sim/checkers/checker.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

// ---- Meetings conserve the sum of the models

class Conservation : public testing::TestWithParam<const char*> {
 protected:
  // Returns how many meetings the checkers saw; they must report no violation.
  std::uint64_t watched(DecentralJob& job, Duration lost_at) {
    job.task.audit = true;
    job.task.epochs = 2;
    job.task.samples = 480;
    std::vector<std::unique_ptr<Checker>> checkers;
    checkers.push_back(make_messages_once());
    checkers.push_back(make_weights_conserved());
    checkers.push_back(make_meetings_conserve());
    Recorder recorder;
    for (const auto& checker : checkers) recorder.observe(*checker);
    World world(DecentralJob::cluster(5), {.seed = kDecentralSeed, .recorder = &recorder});
    world.at(Time(lost_at), [&] { world.kill(NodeId(1), false); });
    world.at(Time(lost_at + 30ms), [&] { world.restart(NodeId(1)); });
    job.run(world, 5);
    std::uint64_t seen = 0;
    for (const auto& checker : checkers) {
      seen += checker->seen();
      EXPECT_THAT(checker->violations(), testing::IsEmpty());
    }
    return seen;
  }
};

TEST_P(Conservation, HoldsWhenAWorkerIsLostAndComesBack) {
  for (const bool together : {true, false})
    for (const std::uint32_t late : {0U, 1U}) {
      DecentralJob job = DecentralJob::like(GetParam());
      if (in_step(job.recipe.algorithm) && !together) continue;
      if (late > 0 && !job.has("overlap-steps")) continue;
      if (job.has("pace")) job.set("pace", together ? "sync" : "async");
      if (job.has("local-steps")) job.set("local-steps", 2);
      if (late > 0) job.set("overlap-steps", late);
      if (job.has("gossip")) job.set("gossip", 0.7);
      EXPECT_GT(watched(job, 40ms), 20U);
    }
}

INSTANTIATE_TEST_SUITE_P(Systems, Conservation,
                         testing::Values("sparknet", "bmuf", "diloco", "easgd", "deepspark",
                                         "d-psgd", "butterfly-sgd", "ad-psgd", "gosgd", "mpca-sgd",
                                         "crossbow", "malt", "tree-easgd"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

// ---- gosgd

Models gossiping(const DecentralJob& job, std::size_t P, std::vector<float>& result) {
  struct Sent {
    std::size_t to;
    std::vector<float> w;
    double a;
  };
  const auto& p = job.as<GossipSettings>();
  Models w = job.initial(P);
  std::vector<double> a(P, 1 / static_cast<double>(P));
  std::vector<Random> random;
  for (std::size_t r = 0; r < P; ++r) random.emplace_back(kDecentralSeed, Purpose::Gossip, r, 0);
  std::vector<Sent> under_way;
  const auto take = [&](std::size_t r) {
    for (const Sent& s : under_way) {
      if (s.to != r) continue;
      DecentralJob::move(w[r], s.a / (a[r] + s.a), s.w, w[r]);
      a[r] += s.a;
    }
  };
  DecentralJob::Steps steps(job);
  for (std::uint64_t t = 1; const auto g = steps.gradients(w); ++t) {
    job.descend(w, *g);
    std::vector<Sent> sent;
    for (std::size_t r = 0; r < P; ++r) {
      take(r);
      if (!random[r].chance(p.probability)) continue;
      const std::vector<Rank> peers = graph_of(p.topology, P, kDecentralSeed, t)[r];
      a[r] /= 2;
      sent.push_back({peers[random[r].below(peers.size())].value(), w[r], a[r]});
    }
    under_way = sent;
  }
  for (std::size_t r = 0; r < P; ++r) take(r);
  result.assign(w[0].size(), 0.0F);
  for (std::size_t r = 0; r < P; ++r)
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += static_cast<float>(a[r]) * w[r][i];
  return w;
}

TEST(Gosgd, EqualsItsOracle) {
  for (const double chance : {0.3, 1.0}) {
    DecentralJob job = DecentralJob::like("gosgd");
    job.set("pace", "sync");
    job.set("gossip", chance);
    job.run(4);
    std::vector<float> result;
    const Models oracle = gossiping(job, 4, result);
    for (std::uint32_t r = 0; r < 4; ++r)
      DecentralJob::expect_near(job.models[NodeId(r)], oracle[r]);
    DecentralJob::expect_near(job.results[NodeId(2)], result);
  }
}

TEST(Gosgd, SendsAModelWithItsChance) {
  const auto models = [](double chance) {
    DecentralJob job = DecentralJob::like("gosgd");
    job.task.samples = 6 * 4 * 100;
    job.set("pace", "sync");
    job.set("gossip", chance);
    Recorder recorder;
    ModelsBetween between;
    recorder.observe(between);
    World world(DecentralJob::cluster(4), {.seed = kDecentralSeed, .recorder = &recorder});
    job.run(world, 4);
    std::uint64_t all = 0;
    for (const auto& [way, n] : between.sent) all += n;
    return all;
  };
  EXPECT_EQ(models(0), 0U);
  EXPECT_EQ(models(1), 400U);
  EXPECT_NEAR(static_cast<double>(models(0.1)), 40, 20);
}

// ---- ad-psgd

TEST(AdPsgd, OfTwoEqualsItsOracle) {
  DecentralJob job = DecentralJob::like("ad-psgd");
  job.set("pace", "sync");
  job.set("local-steps", 4);
  job.task.samples =
      120;  // Two meetings: the active worker is behind by less than a step after them.
  job.run(2);
  Models w = job.initial(2);
  Models at = w;  // where gradients are taken: the passive one meets while it computes
  DecentralJob::Steps steps(job);
  for (std::uint64_t t = 1;; ++t) {
    at[0] = w[0];
    const auto g = steps.gradients(at);
    if (!g) break;
    const auto update = [&](std::size_t r) {
      for (std::size_t i = 0; i < w[r].size(); ++i)
        w[r][i] -= static_cast<float>(job.task.eta) * (*g)[r][i];
    };
    update(1);
    at[1] = w[1];
    if (t % 4 == 0) w.assign(2, DecentralJob::mean(w));
    update(0);
  }
  for (std::uint32_t r = 0; r < 2; ++r) DecentralJob::expect_near(job.models[NodeId(r)], w[r]);
}

TEST(AdPsgd, NobodyWaitsInACircle) {
  for (const char* const topology : {"ring", "complete", "chain"})
    for (const std::size_t P : {3, 4, 7}) {
      DecentralJob job = DecentralJob::like("ad-psgd");
      job.set("topology", topology);
      job.set("local-steps", 1);
      Recorder recorder;
      ModelsBetween between;
      recorder.observe(between);
      World world(DecentralJob::cluster(P), {.seed = kDecentralSeed, .recorder = &recorder});
      job.run(world, P);
      // Only an active worker sends its model and waits for the answer, and only to a passive one.
      EXPECT_FALSE(between.sent.empty());
      for (const auto& [way, n] : between.sent) {
        EXPECT_EQ(way.first % 2, 0U);
        EXPECT_EQ(way.second % 2, 1U);
      }
    }
}

// ---- d-psgd, butterfly-sgd

TEST(DPsgd, TheMeanOfModelsMovesAsSgd) {
  DecentralJob job = DecentralJob::like("d-psgd");
  job.run(5);
  const Mixing W = metropolis(graph_of(job.topology(), 5));
  Models w = job.initial(5);
  Models mean = job.initial(1);
  DecentralJob::Steps steps(job);
  while (const auto g = steps.gradients(w)) {
    job.descend(mean, {DecentralJob::mean(*g)});
    Models mixed = job.initial(5);
    for (std::size_t r = 0; r < 5; ++r)
      for (std::size_t q = 0; q < 5; ++q)
        for (std::size_t i = 0; i < w[0].size(); ++i)
          mixed[r][i] += static_cast<float>(W[r][q]) * w[q][i];
    w = mixed;
    job.descend(w, *g);
  }
  DecentralJob::expect_near(job.results[NodeId(0)], mean[0]);
}

TEST(DPsgd, WithoutMeetingsModelsAreIndependent) {
  DecentralJob job = DecentralJob::like("d-psgd");
  job.set("local-steps", 1000);  // the meeting of step 0 finds equal models
  job.run(4);
  Models w = job.initial(4);
  DecentralJob::Steps steps(job);
  while (const auto g = steps.gradients(w)) job.descend(w, *g);
  for (std::uint32_t r = 0; r < 4; ++r) DecentralJob::expect_near(job.models[NodeId(r)], w[r]);
}

TEST(DPsgd, ATopologyIsRepairedWhenAWorkerIsLost) {
  for (const char* const topology : {"regular:3", "regular:5", "torus", "tree"}) {
    DecentralJob job = DecentralJob::like("d-psgd");
    job.set("topology", topology);
    job.task.samples = 480;
    World world(DecentralJob::cluster(6), {.seed = kDecentralSeed});
    world.at(Time(5ms), [&] { world.kill(NodeId(2), false); });
    job.run(world, 6);
    ASSERT_EQ(job.results.size(), 5U) << topology;
    for (const auto& [node, n] : job.applied) EXPECT_EQ(n, 480U) << topology;
  }
}

TEST(ButterflySgd, AtARateOfZeroModelsAreOneAfterLog2PSteps) {
  DecentralJob job = DecentralJob::like("butterfly-sgd");
  job.run_then_rest(8);
  const double apart = job.spread();
  job.rest_on(8);  // five steps
  EXPECT_GT(apart, 1e-3);
  EXPECT_LT(job.spread(), 1e-9 * apart);
}

TEST(ButterflySgd, SendsOneModelAStepWhateverTheNumberOfWorkers) {
  for (const std::size_t P : {4, 8}) {
    const auto messages = [P](std::uint64_t steps) {
      DecentralJob job = DecentralJob::like("butterfly-sgd");
      job.task.samples = 6 * P * steps;
      job.run(P);
      return job.outcome.messages;
    };
    EXPECT_EQ(messages(20) - messages(10), 10 * P);
  }
}

// ---- Bad input

TEST(AlgorithmSettings, WhatCannotBeIsRefusedWithWhatCan) {
  const auto refused = [](const char* system, std::uint64_t workers, const char* name,
                          const char* value) {
    Decentral recipe = std::get<Decentral>(find_system(system).recipe);
    try {
      for (const Setting& setting : settings_of(recipe))
        if (setting.name == name) setting.set(value);
      require_valid(recipe.algorithm, workers);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  using testing::HasSubstr;
  EXPECT_EQ(refused("easgd", 4, "alpha", "auto"), "");
  EXPECT_THAT(refused("easgd", 4, "alpha", "1.5"), HasSubstr("from 0 to 1, or auto, not '1.5'"));
  EXPECT_THAT(refused("easgd", 4, "center-rate", "0.3"), HasSubstr("at most 0.25"));
  EXPECT_THAT(refused("gosgd", 4, "gossip", "2"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refused("bmuf", 4, "block-momentum", "1"), HasSubstr("0.999"));
  EXPECT_THAT(refused("crossbow", 4, "learners", "17"), HasSubstr("16"));
  EXPECT_THAT(refused("dogwild", 4, "drop-probability", "1.1"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refused("d-psgd", 3, "topology", "regular:3"), HasSubstr("a degree below 3"));
  EXPECT_THAT(refused("d-psgd", 5, "topology", "regular:3"), HasSubstr("regular:2"));
}

}  // namespace
}  // namespace shoal
