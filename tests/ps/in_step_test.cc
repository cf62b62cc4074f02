// Servers in step, as whole simulated runs: the bits of all-reduce, and the ledger with backup
// workers.
#include <gtest/gtest.h>

#include "learner/quadratic.h"
#include "train/simulation.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSamples = 480;
// For a reproducible run: neither the shards of a step nor the steps of an epoch are equal.
constexpr std::uint64_t kRound = 27;

struct InStepServers : testing::Test {
  Summary run(std::uint32_t workers, Recipe recipe, double slow = 1) const {
    TrainPlan plan;
    plan.samples = kSamples;
    plan.workers = workers;
    plan.batch = 4;
    plan.global_batch = shards_of(recipe) > 0 ? kRound : 0;
    const std::uint64_t each = shards_of(recipe) > 0 ? kRound : plan.batch * workers;
    plan.epochs = 2;
    plan.steps = Step(plan.epochs * ((kSamples + each - 1) / each));
    plan.rule = rule;
    plan.eta = 0.05;
    plan.evaluate = false;
    plan.recipe = recipe;
    QuadraticLearner learner({.seed = Seed(3), .dimensions = Elements(101)});
    const std::uint32_t servers = servers_of(recipe);
    Simulation simulation;
    simulation.cluster =
        Cluster::uniform(workers + servers, {.latency = 100us, .bytes_per_s = 1e8});
    simulation.cluster.ns_per_element = {1e4, 4e4, 1e2, 1e2, 0, 0, 0, 0};
    for (std::uint32_t i = 0; i < servers; ++i)
      simulation.cluster.nodes[workers + i].role = Role::Server;
    simulation.cluster.stragglers.resize(workers + servers);
    if (slow > 1) simulation.cluster.stragglers[workers - 1] = {Straggler::Kind::Constant, slow};
    simulation.journal.quiet = true;
    const SimulationResult result = simulate(plan, learner, simulation, [](const auto&, auto) {});
    EXPECT_TRUE(result.outcome.finished) << result.outcome.waiting_for;
    for (const NodeError& error : result.outcome.errors) ADD_FAILURE() << error.what;
    return result.train.summary;
  }
  static Served served(std::uint32_t servers, const char* consistency, std::uint32_t copies = 1) {
    Served recipe;
    recipe.ps.servers = servers;
    recipe.ps.copies = copies;
    recipe.ps.consistency = parse_consistency(consistency);
    return recipe;
  }

  static Recipe reproducible(auto recipe) {
    recipe.shards = 8;
    return recipe;
  }

  static InStep owned() {
    return {.updater = Updater::Owners, .exchange = Exchange::Direct, .order = SendOrder::Fifo};
  }

  Rule rule = default_rule(RuleKind::Momentum);
};

// For any number of workers and servers. With owners each worker adds up its own part.
TEST_F(InStepServers, GivesTheBitsOfAllReduce) {
  const Recipe owners = owned();
  for (const std::uint32_t P : {2U, 3U, 4U, 5U, 8U}) {
    const std::string expected = run(P, owners).params_sha256;
    for (const std::uint32_t S : {0U, 1U, 2U, 3U})
      for (const char* const consistency : {"synchronous", "bounded:0"}) {
        const Summary s = run(P, served(S, consistency, S == 3 ? 2 : 1));
        EXPECT_EQ(s.params_sha256, expected) << P << " workers, " << S << " servers";
        EXPECT_EQ(s.staleness.most, 0U);
      }
  }
}

// For any number of workers: the sums of logical shards have one order.
TEST_F(InStepServers, AReproducibleRunHasTheBitsOfOwnersForAnyNumberOfWorkersAndServers) {
  const Recipe owners = reproducible(owned());
  const std::string expected = run(3, owners).params_sha256;
  for (const std::uint32_t P : {1U, 2U, 3U, 4U, 8U})
    for (const std::uint32_t S : {0U, 1U, 2U, 3U})
      for (const char* const consistency : {"synchronous", "bounded:0"}) {
        const Summary s = run(P, reproducible(served(S, consistency, S == 3 ? 2 : 1)));
        EXPECT_EQ(s.params_sha256, expected) << P << " workers, " << S << " servers";
        EXPECT_EQ(s.ledger.consumed, 2 * kSamples);
        EXPECT_EQ(s.staleness.most, 0U);
      }
}

TEST_F(InStepServers, WhatBackupWorkersBringTooLateIsCountedAsDropped) {
  const Summary even = run(4, served(1, "backup:1"), 1);
  const Summary slow = run(4, served(1, "backup:1"), 5);
  for (const Summary* const s : {&even, &slow}) {
    EXPECT_EQ(s->ledger.consumed + s->ledger.dropped, 2 * kSamples);
    EXPECT_EQ(s->ledger.lost + s->ledger.partial + s->ledger.missing, 0U);
    EXPECT_GT(s->ledger.dropped, 0U);
    EXPECT_EQ(s->staleness.most, 0U);
  }
  // With equal workers one sample in four, except at ends of epochs; with a slow one all its
  // samples.
  EXPECT_LE(even.ledger.dropped, 2 * kSamples / 4);
  EXPECT_LT(slow.ledger.dropped, even.ledger.dropped);
}

}  // namespace
}  // namespace shoal
