// Stories of a job's membership, in virtual time: the members, the times, and the reports to all.
#include "membership/member.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "membership/sim_fixture.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Member, FirstViewWaitsForAllExpected) {
  TestJob job(3);
  job.start(0);
  job.start(1);
  job.sim().run_for(2s);
  EXPECT_EQ(job.history().views(), 0U);
  job.start(2);
  EXPECT_TRUE(job.forms(100ms, {0, 1, 2}));
  EXPECT_EQ(describe(job.history().last()), "view 1: 0.1 1.1 2.1");
  EXPECT_THAT(job.all_lines(), HasSubstr("the first view waits: 2 of 3 nodes are here"));
  EXPECT_EQ(job.history().violation(), "");
}

TEST(Member, FirstViewFormsWithoutTheMissingWhenItsTimeIsUp) {
  TestJob job(3);
  job.start(0);
  job.start(1);
  EXPECT_FALSE(job.forms(4900ms, {0, 1}));
  EXPECT_TRUE(job.forms(300ms, {0, 1}));
}

TEST(Member, BelowTheMinimumTheJobWaitsAndSaysSo) {
  TestJob job(3);
  const auto start = [&](Slot slot) {
    SimProcess& process = job.sim().create(slot);
    MemberOptions options = job.options_for(process);
    options.job.view.minimum = 2;
    job.start(slot, process, std::move(options), true);
  };
  for (Slot slot = 0; slot < 3; ++slot) start(slot);
  ASSERT_TRUE(job.forms(1s, {0, 1, 2}));
  const Slot left = job.coordinator();
  const Slot first = (left + 1) % 3;
  const Slot second = (left + 2) % 3;
  job.sim().crash(first);
  job.sim().crash(second);
  job.sim().run_for(3s);
  const std::string waits = "waiting: 1 of at least 2 workers are here";
  EXPECT_THAT(job.all_lines(), HasSubstr(waits));
  EXPECT_EQ(job.all_lines().find(waits), job.all_lines().rfind(waits)) << "said once";
  EXPECT_GE(job.history().last().size(), 2U) << "no view of one";
  start(second);
  std::vector<Slot> both{left, second};
  EXPECT_TRUE(job.forms(100ms, both));
  EXPECT_EQ(job.history().violation(), "");
}

TEST(Member, WhenOneAsksForTheEndEveryViewFromThenOnIsEnding) {
  TestJob job(4);
  job.start_all(4);
  const Slot coordinator = job.coordinator();
  const Slot asks = (coordinator + 1) % 4;
  job.node(asks).life->end_job(Ending::Stopped, "a signal");
  job.sim().run_for(100ms);
  EXPECT_EQ(job.history().views(), 2U);
  EXPECT_EQ(job.history().last().ending, Ending::Stopped);
  EXPECT_EQ(job.history().last().size(), 4U);
  EXPECT_THAT(job.log().back(), HasSubstr("the job ends: node"));
  for (Slot slot = 0; slot < 4; ++slot)
    EXPECT_EQ(job.history().seen_by(NodeId(slot))->ending, Ending::Stopped) << slot;

  job.sim().crash(coordinator);
  std::vector<Slot> rest{0, 1, 2, 3};
  std::erase(rest, coordinator);
  ASSERT_TRUE(job.forms(1s, rest));
  EXPECT_EQ(job.history().last().ending, Ending::Stopped) << "also under the next coordinator";
  EXPECT_EQ(job.history().violation(), "");
}

TEST(Member, ContactsOfAViewAreKnownBeforeTheView) {
  TestJob job(2);
  Contacts known;
  Generation told;
  SimProcess& process = job.sim().create(0);
  MemberOptions options = job.options_for(process);
  options.on_view = [&](const ViewPtr& view, const Contacts& contacts) {
    EXPECT_GT(view->generation, told);
    told = view->generation;
    known = contacts;
    EXPECT_TRUE(job.node(0).life == nullptr || job.node(0).life->now().generation < told);
  };
  job.start(0, process, std::move(options), true);
  job.start(1);
  ASSERT_TRUE(job.forms(1s, {0, 1}));
  ASSERT_EQ(known.size(), 2U);
  EXPECT_EQ(known.at(NodeId(1)).bytes, fmt::format("contact of {}", job.process(1).instance()));
  EXPECT_EQ(known.at(NodeId(1)).incarnation, Incarnation(1));
}

TEST(Member, ADeadProcessIsOutAtOnce) {
  TestJob job(4);
  job.start_all(4);
  const Slot victim = job.coordinator() == 1 ? 2 : 1;
  job.sim().crash(victim);
  std::vector<Slot> rest = {0, 1, 2, 3};
  std::erase(rest, victim);
  EXPECT_TRUE(job.forms(10ms, rest));
  EXPECT_THAT(job.log().back(), HasSubstr(fmt::format("node {} out (connection lost)", victim)));
  job.start(victim);
  EXPECT_TRUE(job.forms(20ms, {0, 1, 2, 3}));
  EXPECT_EQ(job.incarnation(victim), Incarnation(2));
  EXPECT_EQ(job.history().violation(), "");
}

TEST(Member, AFrozenProcessIsOutAndFencedAndComesBack) {
  TestJob job(4);
  job.start_all(4);
  const Slot victim = job.coordinator() == 1 ? 2 : 1;
  job.sim().freeze(victim);
  std::vector<Slot> rest = {0, 1, 2, 3};
  std::erase(rest, victim);
  EXPECT_FALSE(job.forms(800ms, rest)) << "so long a pause is nothing";
  EXPECT_TRUE(job.forms(500ms, rest));
  job.sim().run_for(3s);
  job.sim().thaw(victim);
  EXPECT_TRUE(job.forms(50ms, {0, 1, 2, 3}));
  const History::Life first(NodeId(victim), Incarnation(1));
  EXPECT_THAT(job.history().why_fenced(first), HasSubstr("silent for 1.0"));
  EXPECT_EQ(job.incarnation(victim), Incarnation(2));
  EXPECT_EQ(job.history().violation(), "");
}

TEST(Member, AShortPauseChangesNothing) {
  TestJob job(3);
  job.start_all(3);
  for (const Slot slot : {0U, 1U, 2U}) {
    job.sim().freeze(slot);
    job.sim().run_for(700ms);
    job.sim().thaw(slot);
    job.sim().run_for(2s);
  }
  EXPECT_EQ(job.history().views(), 1U);
}

TEST(Member, TheCoordinatorsDeathIsTakenOverAtOnce) {
  TestJob job(4);
  job.start_all(4);
  for (int round = 0; round < 4; ++round) {
    const Slot coordinator = job.coordinator();
    ASSERT_NE(coordinator, kLauncher);
    std::vector<Slot> rest = {0, 1, 2, 3};
    std::erase(rest, coordinator);
    job.sim().crash(coordinator);
    EXPECT_TRUE(job.forms(50ms, rest)) << job.all_lines();
    EXPECT_NE(job.coordinator(), kLauncher);
    job.start(coordinator);
    EXPECT_TRUE(job.forms(50ms, {0, 1, 2, 3})) << job.all_lines();
    job.sim().run_for(1500ms);
  }
  EXPECT_EQ(job.history().fencings(), 0U) << "nobody else was put out";
  EXPECT_EQ(job.history().views(), 9U);
  const auto terms = std::ranges::count_if(job.log(), [](const std::string& line) {
    return line.find(" coordinates job ") != std::string::npos;
  });
  EXPECT_EQ(terms, 5) << "one takes over each time, and the others see it:\n" << job.all_lines();
  EXPECT_EQ(job.history().violation(), "");
}

TEST(Member, AFrozenCoordinatorIsDeposedAndSaysSo) {
  TestJob job(4);
  job.start_all(4);
  const Slot old = job.coordinator();
  std::vector<Slot> rest = {0, 1, 2, 3};
  std::erase(rest, old);
  job.sim().freeze(old);
  EXPECT_TRUE(job.forms(1300ms, rest)) << job.all_lines();
  job.sim().thaw(old);
  EXPECT_TRUE(job.forms(500ms, {0, 1, 2, 3})) << job.all_lines();
  EXPECT_THAT(job.all_lines(), HasSubstr("no longer coordinates"));
  EXPECT_EQ(job.incarnation(old), Incarnation(2));
  EXPECT_EQ(job.history().violation(), "");
}

TEST(Member, TheStoreAwayIsNotNoticedUntilAViewMustChange) {
  TestJob job(3);
  job.start_all(3);
  job.sim().freeze(kStoreSlot);
  job.sim().run_for(1300ms);
  job.sim().thaw(kStoreSlot);
  job.sim().run_for(2s);
  EXPECT_EQ(job.history().views(), 1U);

  const Slot victim = job.coordinator() == 1 ? 2 : 1;
  std::vector<Slot> rest = {0, 1, 2};
  std::erase(rest, victim);
  job.sim().freeze(kStoreSlot);
  job.sim().crash(victim);
  EXPECT_FALSE(job.forms(1300ms, rest)) << "nobody is told of a view that the store has not";
  job.sim().thaw(kStoreSlot);
  EXPECT_TRUE(job.forms(20ms, rest));
  EXPECT_EQ(job.history().violation(), "");
}

TEST(Member, SuspicionPutsThePeerOutAndOnlyAMembersCounts) {
  TestJob job(4);
  job.start_all(4);
  job.sim().within(2, [&] { job.node(2).life->suspect(NodeId(3), "reset by peer"); });
  // It blames its accuser in turn, but too late.
  job.sim().within(3, [&] { job.node(3).life->suspect(NodeId(2), "no, it is you"); });
  job.sim().run_for(500ms);
  const bool second = job.history().last().has(NodeId(2), Incarnation(1));
  const bool third = job.history().last().has(NodeId(3), Incarnation(1));
  EXPECT_NE(second, third) << "one of two that blame each other stays";
  EXPECT_EQ(job.history().fencings(), 1U);
  EXPECT_TRUE(job.forms(1s, {0, 1, 2, 3})) << "it may come back";
  EXPECT_EQ(job.history().violation(), "");
}

TEST(Member, ANodeThatSuspectsItselfIsOut) {
  TestJob job(3);
  job.start_all(3);
  job.sim().within(2, [&] { job.node(2).life->suspect(NodeId(2), "its device broke"); });
  job.sim().run_for(50ms);
  EXPECT_EQ(describe(job.history().last()), "view 3: 0.1 1.1 2.2");
  const History::Life first(NodeId(2), Incarnation(1));
  EXPECT_THAT(job.history().why_fenced(first), HasSubstr("its device broke"));
}

TEST(Member, LeavingIsNotBeingFenced) {
  TestJob job(3);
  job.start_all(3);
  const Slot leaver = job.coordinator() == 1 ? 2 : 1;
  std::vector<Slot> rest = {0, 1, 2};
  std::erase(rest, leaver);
  job.sim().within(leaver, [&] { job.node(leaver).life->leave(); });
  EXPECT_TRUE(job.forms(20ms, rest));
  job.sim().run_for(100ms);
  EXPECT_FALSE(job.process(leaver).running());
  EXPECT_EQ(job.process(leaver).error(), "");
  EXPECT_EQ(job.history().fencings(), 0U);
}

TEST(Member, ALeavingCoordinatorHandsOver) {
  TestJob job(3);
  job.start_all(3);
  const Slot leaver = job.coordinator();
  std::vector<Slot> rest = {0, 1, 2};
  std::erase(rest, leaver);
  job.sim().within(leaver, [&] { job.node(leaver).life->leave(); });
  EXPECT_TRUE(job.forms(50ms, rest));
  job.sim().run_for(2s);
  EXPECT_FALSE(job.process(leaver).running());
  EXPECT_NE(job.coordinator(), kLauncher);
  EXPECT_EQ(job.history().fencings(), 0U);
  EXPECT_EQ(job.history().views(), 2U) << "handing over changes no view";
}

TEST(Member, WhenAllHaveLeftTheJobIsOver) {
  TestJob job(3);
  job.start_launcher();
  for (const Slot slot : {0U, 1U, 2U}) job.start_under_launcher(slot);
  ASSERT_TRUE(job.forms(1s, {0, 1, 2}));
  for (const Slot slot : {0U, 1U, 2U})
    job.sim().within(slot, [&, slot] { job.node(slot).life->leave(); });
  job.sim().run_for(100ms);
  for (const Slot slot : {0U, 1U, 2U}) {
    EXPECT_FALSE(job.process(slot).running());
    EXPECT_EQ(job.process(slot).error(), "");
  }
  EXPECT_EQ(job.launcher_end, TermEnd::AllLeft);
  EXPECT_EQ(job.history().fencings(), 0U);
}

}  // namespace
}  // namespace shoal
