// The swarm's own machinery: it must be able to report every kind of failure.
#include "sim/swarm.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/task_group.h"
#include "support/sample.h"
#include "swarm/decentral_workload.h"
#include "swarm/served_workload.h"
#include "swarm/sync_workload.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

Scenario scenario_of(NodeProgram program) {
  Scenario s;
  s.recipe = "test";
  s.cluster = Cluster::uniform(2, {.latency = 1us, .bytes_per_s = 1e9});
  s.faults.heal_at = Time(1ms);
  s.liveness = 10s;
  s.program = std::move(program);
  s.judge = [] { return std::string(); };
  return s;
}

// Seeds 5000, 5001, ..., or this run's share of them.
SwarmReport run_share(const Workload& workload, std::uint64_t seeds) {
  const Sample::Block share = Sample().block_of(seeds);
  return run_swarm(workload, Seed(5000 + share.begin), share.size(), 1, [](const SeedReport&) {});
}

TEST(Swarm, AHundredSeedsOfTheSynchronousStrategyAreFine) {
  const SwarmReport report = run_share(sync_scenario, 100);
  EXPECT_TRUE(report.failures.empty()) << report.failures[0].problem;
  EXPECT_EQ(report.seeds, Sample().block_of(100).size());
  if (!Sample().whole()) return;
  for (const char* const checker : {"replicas equal", "steps once", "samples once", "ranges free",
                                    "views agree", "no stale message", "checkpoints kept"})
    EXPECT_GT(report.seen.at(checker), 0U) << checker << " saw nothing";
  for (const auto& [fault, fired] : report.faults) EXPECT_GT(fired, 0U) << fault << " never fired";
  EXPECT_GT(report.probes.at("sync: a step was dropped for a new view"), 0U);
  EXPECT_GT(report.probes.at("sync: a pass was begun before its step"), 0U);
}

TEST(Swarm, ThreeHundredSeedsOfJobsWithServersAreFine) {
  const SwarmReport report = run_share(served_scenario, 300);
  EXPECT_TRUE(report.failures.empty()) << report.failures[0].problem;
  if (!Sample().whole()) return;
  for (const char* const checker : {"ranges free", "views agree", "reads bounded"})
    EXPECT_GT(report.seen.at(checker), 0U) << checker << " saw nothing";
  for (const char* const probe : {"ps: a push came twice", "ps: a push had to wait",
                                  "ps: the next holder was lost", "ps: a request was sent again"})
    EXPECT_TRUE(report.probes.contains(probe)) << probe;
}

// ---- Seeds that found a bug

// A host's last member ran its steps behind the gate of the previous view, which no member opened.
TEST(Swarm, AViewOfOneHostHasNoGateOfTheOneBefore) {
  for (const std::uint64_t seed : {324U, 1489U}) {
    const SeedReport r = run_seed_twice(sync_scenario, Seed(seed));
    EXPECT_EQ(r.verdict, SeedVerdict::Fine) << seed << ": " << r.problem;
  }
}

void expect_fine_with_servers(std::uint64_t seed) {
  const SeedReport r = run_seed_twice(served_scenario, Seed(seed));
  EXPECT_EQ(r.verdict, SeedVerdict::Fine) << seed << ": " << r.problem;
}

// The push waited for its turn, was counted as never received, and was then applied after all.
TEST(Swarm, APushOfALostWorkerThatWaitedIsNotTakenAfterTheInquest) {
  expect_fine_with_servers(100341);
}

// An admitted worker asked for admission again, and was held back for a warm start, which waited
// for it.
TEST(Swarm, AWorkerThatIsInIsNotHeldBackByAWarmStart) { expect_fine_with_servers(117249); }

// All shards had the pushes of these samples, and counted them as applied, but the residual of
// twobit was lost with its worker.
TEST(Swarm, OfALostWorkerThatKeptSomethingBackSamplesArePartial) {
  expect_fine_with_servers(1232);
  expect_fine_with_servers(2239);
}

// The same with onebit, whose means exceed some elements: the shard had counted too many samples.
TEST(Swarm, WhatALostWorkerKeptBackMayHaveEitherSign) { expect_fine_with_servers(1692); }

// A deadlock: the new worker had joined the first shard, while the others measured norms without
// it. They waited for the first shard's norms, which waited for its push, and it waited to read
// from them.
TEST(Swarm, ANewWorkerReadsWhileNormsAreMeasured) { expect_fine_with_servers(2871); }

// The scheduler was restored from a checkpoint. One worker was in its first round when another
// asked for the round after one that the lost scheduler had dealt. That ended the first worker's
// round, which then pushed for a step that was over elsewhere.
TEST(Swarm, WhatALostDealerDealtDoesNotEndARoundOfTheNext) { expect_fine_with_servers(2435); }

// A shard was restored to a state before a step that its workers had finished. Their push of it for
// a lost worker stayed there forever, and they waited for its release.
TEST(Swarm, WhatIsLeftOfAStepAtAShardThatWasLoadedHoldsNobody) {
  expect_fine_with_servers(5463);
  expect_fine_with_servers(14131);
}

// A sum was answered when it waited for the update, and was lost with its shard. Nobody pushed it
// again.
TEST(Swarm, ASumThatWaitedAtALostShardIsPushedAgain) { expect_fine_with_servers(1638); }

// A worker read what a lost head had, of an update that was not at the next holder. That one is
// the head now, with sums of the round, and still gets the others.
TEST(Swarm, AHolderThatBecomesTheHeadDoesNotSkipARound) { expect_fine_with_servers(2602); }

// The next holder was a new life of a lost one. It held nothing and never took the records for the
// lost life, so that a worker's gradient was not released.
TEST(Swarm, AnotherLifeOfTheNextHolderGetsNoRecords) { expect_fine_with_servers(9578); }

// The next holder of one directory had another when it heard again, and never took the records. So
// a worker's gradient was not released.
TEST(Swarm, AHolderThatLeftOutADirectoryTakesWhatWasSentToIt) { expect_fine_with_servers(15126); }

TEST(Swarm, ThreeHundredSeedsOfModelsThatMeetAreFine) {
  const SwarmReport report = run_share(decentral_scenario, 300);
  EXPECT_TRUE(report.failures.empty()) << report.failures[0].problem;
  if (!Sample().whole()) return;
  for (const char* const checker :
       {"ranges free", "views agree", "messages once", "weights conserved", "meetings conserve"})
    EXPECT_GT(report.seen.at(checker), 0U) << checker << " saw nothing";
  for (const char* const probe : {"decentral: a round was cut off by a new view",
                                  "decentral: a newcomer got the model of another",
                                  "decentral: a center was made of all models"})
    EXPECT_TRUE(report.probes.contains(probe)) << probe;
}

// The canaries: a program that never ends, one that throws, one with a wrong result, and one that
// depends on more than the seed.
TEST(Swarm, ANodeThatNeverEndsIsALivenessFailure) {
  const SeedReport r = run_seed_twice(
      [](Seed) {
        return scenario_of([](Node& node) -> Task<> {
          Signal never;
          if (node.id == NodeId(1)) co_await never.wait();
        });
      },
      Seed(1));
  EXPECT_EQ(r.verdict, SeedVerdict::Liveness);
  EXPECT_NE(r.problem.find("node 1.1 up"), std::string::npos) << r.problem;
}

TEST(Swarm, ANodeThatThrowsIsACorrectnessFailure) {
  const SeedReport r = run_seed_twice(
      [](Seed) {
        return scenario_of([](Node& node) -> Task<> {
          co_await node.env.sleep(1ms);
          throw DataError("no such sample");
        });
      },
      Seed(1));
  EXPECT_EQ(r.verdict, SeedVerdict::Correctness);
  EXPECT_NE(r.problem.find("no such sample"), std::string::npos) << r.problem;
}

TEST(Swarm, AWrongResultIsACorrectnessFailure) {
  const SeedReport r = run_seed_twice(
      [](Seed) {
        Scenario s = scenario_of([](Node&) -> Task<> { co_return; });
        s.judge = [] { return std::string("parameter 3 is 4"); };
        return s;
      },
      Seed(1));
  EXPECT_EQ(r.verdict, SeedVerdict::Correctness);
  EXPECT_EQ(r.problem, "parameter 3 is 4");
}

TEST(Swarm, AProgramThatLooksBeyondTheSeedLosesDeterminism) {
  int calls = 0;
  const SeedReport r = run_seed_twice(
      [&](Seed) {
        return scenario_of([&](Node& node) -> Task<> { co_await node.env.sleep(1ms * ++calls); });
      },
      Seed(1));
  EXPECT_EQ(r.verdict, SeedVerdict::Determinism);
}

TEST(Swarm, ACancellationThatEscapesTheProgramIsAnError) {
  const SeedReport r = run_seed_twice(
      [](Seed) {
        return scenario_of([](Node&) -> Task<> {
          throw Cancelled();
          co_return;
        });
      },
      Seed(1));
  EXPECT_EQ(r.verdict, SeedVerdict::Correctness);
  EXPECT_NE(r.problem.find("Cancelled escaped"), std::string::npos) << r.problem;
}

}  // namespace
}  // namespace shoal
