#include "ps/consistency.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "replica/staleness.h"

namespace shoal {
namespace {

ClockTable table(const std::vector<std::uint64_t>& clocks) {
  ClockTable t;
  for (std::uint32_t i = 0; i < clocks.size(); ++i) t.enter(NodeId(i), Incarnation(1), clocks[i]);
  return t;
}

std::string consistency_refused(const char* text) {
  try {
    parse_consistency(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Consistency, IsReadAsItIsWritten) {
  for (const char* const text : {"synchronous", "softsync:2", "bounded:0", "bounded:3", "value:0.5",
                                 "reject:4", "async", "backup:1"})
    EXPECT_EQ(to_string(parse_consistency(text)), text);
}

TEST(Consistency, WhatCannotBeIsRefusedWithWhatCan) {
  for (const char* const text :
       {"bounded", "bounded:", "bounded:-1", "bounded:x", "softsync:0", "value:0", "value:nan",
        "async:1", "synchronous:2", "backup:0", "backup", ""})
    EXPECT_THROW(parse_consistency(text), ConfigError) << text;
  EXPECT_EQ(consistency_refused("bunded:3"),
            "--consistency bunded:3: this is not known. Did you mean 'bounded'?");
  EXPECT_EQ(consistency_refused("bounded"),
            "--consistency bounded: expected bounded:STALENESS; STALENESS is a whole number from 0 "
            "on (steps that a worker may be ahead of the slowest)");
  EXPECT_EQ(consistency_refused("softsync:0"),
            "--consistency softsync:0: n (updates from P pushes): expected a whole "
            "number from 1 on, not '0'");
  EXPECT_EQ(consistency_refused("async:1"), "--consistency async:1: async takes no '1'");
}

TEST(Consistency, PredicatesSayWhatServersMayLeaveOut) {
  using Texts = std::vector<std::string>;
  const auto those = [](bool (*holds)(const Consistency&)) {
    Texts names;
    for (const char* const text : {"synchronous", "bounded:0", "bounded:3", "softsync:2",
                                   "value:0.1", "reject:4", "backup:1", "async"})
      if (holds(parse_consistency(text))) names.emplace_back(text);
    return names;
  };
  EXPECT_EQ(those(moves_in_step), (Texts{"synchronous", "bounded:0"}));
  EXPECT_EQ(those(goes_by_steps), (Texts{"synchronous", "bounded:0", "backup:1"}));
  EXPECT_EQ(those(counts_clocks), (Texts{"synchronous", "bounded:0", "softsync:2", "backup:1"}));
  EXPECT_EQ(those(drops_late), (Texts{"reject:4", "backup:1"}));
  EXPECT_EQ(those(limits_change), (Texts{"value:0.1"}));
  EXPECT_EQ(staleness_bound(parse_consistency("bounded:0")), 0U);
  EXPECT_EQ(staleness_bound(parse_consistency("reject:4")), std::nullopt);
  EXPECT_EQ(rate_divisor(parse_consistency("softsync:5")), 5U);
  EXPECT_EQ(rate_divisor(parse_consistency("bounded:5")), 1U);
}

// Without clocks, and with workers that all pushed as often: what the papers count.
TEST(Consistency, AnUpdateTakesSoManyPushes) {
  const auto pushes = [](const char* text) {
    return pushes_per_update(parse_consistency(text), 7);
  };
  EXPECT_EQ(pushes("synchronous"), 7U);
  EXPECT_EQ(pushes("bounded:0"), 7U);
  EXPECT_EQ(pushes("backup:2"), 5U);
  EXPECT_EQ(pushes("backup:7"), 1U);
  EXPECT_EQ(pushes("softsync:2"), 3U);
  for (const char* const text : {"bounded:1", "value:0.1", "reject:4", "async"})
    EXPECT_EQ(pushes(text), 1U) << text;
}

TEST(Consistency, BoundedWaitsOnlyWhoIsMoreThanTheBoundAhead) {
  const Consistency c = consistency::Bounded(3);
  const ClockTable t = table({5, 9, 7});
  EXPECT_TRUE(may_read(c, t, 8, 0, 0));
  EXPECT_FALSE(may_read(c, t, 9, 0, 0));
  EXPECT_TRUE(may_read(c, t, 5, 0, 0));
}

TEST(Consistency, NobodyWaitsInTheAsynchronousOnes) {
  const ClockTable t = table({0, 1000});
  for (const char* const text : {"async", "softsync:1", "reject:1", "value:0.1"})
    EXPECT_TRUE(may_read(parse_consistency(text), t, 1000, 0, 1)) << text;
}

TEST(Consistency, BoundedByZeroIsSynchronous) {
  const Consistency zero = consistency::Bounded(0);
  const Consistency sync = consistency::Synchronous{};
  for (std::uint64_t a = 0; a < 4; ++a)
    for (std::uint64_t b = 0; b < 4; ++b)
      for (std::uint64_t version = 0; version < 4; ++version)
        for (std::uint64_t pushes = 0; pushes < 3; ++pushes) {
          const ClockTable t = table({a, b});
          EXPECT_EQ(may_read(zero, t, 2, version, pushes), may_read(sync, t, 2, version, pushes));
          EXPECT_EQ(completes(zero, t, pushes, version), completes(sync, t, pushes, version));
          EXPECT_EQ(version_after(zero, t, version), version_after(sync, t, version));
        }
}

TEST(Consistency, SynchronousMakesAnUpdateOfOnePushOfEachWorker) {
  const Consistency c = consistency::Synchronous{};
  EXPECT_FALSE(completes(c, table({3, 2, 3}), 2, 2));
  EXPECT_TRUE(completes(c, table({3, 3, 3}), 3, 2));
  EXPECT_EQ(version_after(c, table({3, 3, 3}), 2), 3U);
  EXPECT_FALSE(may_read(c, table({3, 2, 3}), 3, 2, 2));
  EXPECT_TRUE(may_read(c, table({3, 3, 3}), 3, 3, 0));
}

TEST(Consistency, SoftsyncTakesAsManyAsTheWorkersDividedByN) {
  const ClockTable t = table({0, 0, 0, 0, 0, 0, 0, 0});
  for (std::uint64_t n = 1; n <= 10; ++n) {
    const std::uint64_t needed = std::max<std::uint64_t>(1, 8 / n);
    const Consistency c = consistency::Softsync(n);
    EXPECT_FALSE(completes(c, t, needed - 1, 0)) << n;
    EXPECT_TRUE(completes(c, t, needed, 0)) << n;
  }
}

TEST(Consistency, WhatIsOlderThanTheBoundIsRejected) {
  const Consistency c = consistency::Reject(2);
  ClockTable t = table({0});
  EXPECT_EQ(admits(c, t, t.rows[0], 7, 5, 0), Admission::Now);
  EXPECT_EQ(admits(c, t, t.rows[0], 8, 5, 0), Admission::Never);
}

TEST(Consistency, OfTheWorkersOfAStepTheFirstCountAndWhoIsLateIsDropped) {
  const Consistency c = consistency::Backup(1);
  ClockTable t = table({3, 3, 3, 2});
  EXPECT_FALSE(completes(c, t, 2, 2));
  EXPECT_TRUE(completes(c, t, 3, 2));
  EXPECT_EQ(version_after(c, t, 2), 3U);
  EXPECT_EQ(admits(c, t, t.rows[3], 2, 2, 0), Admission::Now);
  EXPECT_EQ(admits(c, t, t.rows[3], 3, 2, 0), Admission::Never);
  t.rows.resize(1);  // The others are gone: now there are as many backups as workers.
  EXPECT_TRUE(completes(c, t, 1, 2));
  EXPECT_TRUE(goes_by_steps(c));
  EXPECT_FALSE(moves_in_step(c));
}

TEST(Consistency, AChangeWaitsWhileSomebodyAtWorkWouldMissTooMuch) {
  const Consistency c = consistency::Value(1.0);
  ClockTable t = table({0, 0});
  t.rows[1].unseen = 0.7;
  EXPECT_EQ(admits(c, t, t.rows[0], 0, 0, 0.2), Admission::Now);
  EXPECT_EQ(admits(c, t, t.rows[0], 0, 0, 0.3), Admission::Later);
  t.rows[1].waits = true;  // It will see the update before it computes again.
  EXPECT_EQ(admits(c, t, t.rows[0], 0, 0, 0.3), Admission::Now);
  t.rows[1] = ClockRow{NodeId(1), Incarnation(1)};
  EXPECT_EQ(admits(c, t, t.rows[0], 0, 0, 50), Admission::Now);  // No worker is behind.
}

TEST(Consistency, WhoIsAwayOrGoneCountsNoMore) {
  View view;
  for (std::uint32_t i = 0; i < 4; ++i)
    view.members.push_back({NodeId(i), Role::Worker, i, HostId(i), Incarnation(i == 2 ? 2 : 1)});
  view.members.erase(view.members.begin() + 1);
  ClockTable t = table({9, 1, 2, 8});
  t.rows[3].away = true;
  const ClockTable here = present(t, view);
  EXPECT_EQ(t.least(view), min_clock(here));
  ASSERT_EQ(here.rows.size(), 1U);  // 1 is not in the view, 2 has another life, 3 is away
  EXPECT_EQ(min_clock(here), 9U);
}

TEST(Staleness, IsCounted) {
  Staleness a;
  EXPECT_EQ(a.mean(), 0);
  for (const std::uint64_t s : {0, 2, 4, 1000}) a.add(s);
  EXPECT_DOUBLE_EQ(a.mean(), 251.5);
  EXPECT_EQ(a.pushes, 4U);
  EXPECT_EQ(a.most, 1000U);
  EXPECT_EQ(a.bins[4], 1U);
  EXPECT_EQ(a.bins[Staleness::kBins - 1], 1U);
}

// Clocks advance in any order; workers come, leave and are lost. The remembered minimum is only a
// hint where to look.
TEST(ClockTable, TheLeastIsThatOfThePresentWhateverHappens) {
  Random random(Seed(8), Purpose::Cluster);
  ClockTable t;
  View view{Generation(1), {}};
  for (std::uint32_t node = 0; node < 12; ++node)
    view.members.push_back({NodeId(node), Role::Worker, node, HostId(node), Incarnation(1)});
  EXPECT_EQ(t.least(view), std::nullopt);
  for (int i = 0; i < 5000; ++i) {
    const NodeId worker(static_cast<std::uint32_t>(random.below(14)));
    ClockRow* const row = t.find(worker, Incarnation(1));
    if (row == nullptr || row->away) {
      t.enter(worker, Incarnation(1), random.below(20));
    } else if (random.chance(0.02)) {
      row->away = true;
    } else if (random.chance(0.02) && view.size() > 3) {
      view.generation = view.generation.next();
      std::erase_if(view.members, [&](const Member& m) { return m.node == worker; });
    } else {
      ++row->clock;
    }
    const ClockTable here = present(t, view);
    const auto least = here.rows.empty() ? std::nullopt : std::optional(min_clock(here));
    ASSERT_EQ(t.least(view), least) << i;
  }
}

}  // namespace
}  // namespace shoal
