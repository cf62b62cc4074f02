// Rules that need norms across shards: LARS, LAMB and clipping by servers in step.
#include <gtest/gtest.h>

#include "base/error.h"
#include "ps/served_job.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

Rule clipped(RuleKind kind, double norm) {
  Rule rule = default_rule(kind);
  rule.clip_norm = norm;
  return rule;
}

class ServedNorms : public testing::Test {
 protected:
  ServedNorms() {
    job.recipe.ps.consistency = consistency::Synchronous{};
    job.task.eta = 0.02;
    job.task.samples = 120;
  }
  std::vector<float> run(Rule rule, std::size_t servers, std::size_t workers) {
    job.task.rule = rule;
    World world(served_cluster(job, servers, workers), {.seed = kServedSeed});
    run_served(job, world);
    return job.results[NodeId(static_cast<std::uint32_t>(servers))];
  }
  ServedJob job;
  const std::vector<Rule> rules{default_rule(RuleKind::Lars), default_rule(RuleKind::Lamb),
                                clipped(RuleKind::Sgd, 0.5), clipped(RuleKind::Momentum, 0.5),
                                clipped(RuleKind::Lamb, 0.5)};
};

TEST_F(ServedNorms, OfShardsEqualThoseOfTheWhole) {
  for (const Rule& rule : rules) {
    const std::vector<float> whole = run(rule, 1, 3);
    for (const std::size_t S : {0U, 2U, 3U}) {
      const std::vector<float> shards = run(rule, S, 3);
      ASSERT_EQ(shards.size(), whole.size());
      for (std::size_t i = 0; i < whole.size(); ++i)
        ASSERT_NEAR(shards[i], whole[i], 1e-5) << name_of(rule) << " " << S << " servers, " << i;
    }
  }
}

TEST_F(ServedNorms, WhatIsLongerThanTheBoundIsClippedAndNothingElse) {
  const std::vector<float> plain = run(default_rule(RuleKind::Sgd), 2, 3);
  const std::vector<float> clips = run(clipped(RuleKind::Sgd, 0.5), 2, 3);
  const std::vector<float> never = run(clipped(RuleKind::Sgd, 1e9), 2, 3);
  EXPECT_NE(clips, plain);
  for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(never[i], plain[i], 1e-6) << i;
}

// The next head repeats the lost one's measurements, or takes them from the record.
TEST_F(ServedNorms, AServerIsKilledAndTheCopiesGoOnWithTheSameBits) {
  job.recipe.ps.copies = 2;
  for (const Rule& rule : rules) {
    const std::vector<float> expected = run(rule, 3, 3);
    for (const Duration at : {10ms, 17ms, 23ms}) {
      World struck(served_cluster(job, 3, 3), {.seed = kServedSeed});
      struck.at(Time(at), [&] { struck.kill(NodeId(1), false); });
      const Outcome outcome = run_served(job, struck);
      EXPECT_FALSE(outcome.probes.contains("ps: a shard was loaded as it was saved"));
      EXPECT_EQ(job.results[NodeId(3)], expected) << name_of(rule);
    }
  }
}

TEST_F(ServedNorms, AreRefusedWhereUpdatesHaveNoneInCommon) {
  ParameterServerOptions ps;
  for (const char* const text : {"async", "bounded:2", "softsync:2", "reject:1", "backup:1"}) {
    ps.consistency = parse_consistency(text);
    EXPECT_THROW(rule_at_servers(clipped(RuleKind::Sgd, 1), ps, 4), ConfigError) << text;
  }
  ps.consistency = parse_consistency("bounded:0");
  EXPECT_EQ(rule_at_servers(clipped(RuleKind::Sgd, 1), ps, 4).clip_norm, 1);
}

}  // namespace
}  // namespace shoal
