#include "runtime/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

namespace shoal {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Member member(std::uint32_t node, std::uint32_t incarnation, std::uint32_t process = 0) {
  Member m;
  m.node = NodeId(node);
  m.incarnation = Incarnation(incarnation);
  m.process = process;
  m.host = HostId(node);
  return m;
}

View view(std::uint32_t generation, std::vector<Member> members) {
  return View{Generation(generation), std::move(members)};
}

TEST(View, FindsMembersByNodeAndRank) {
  const View v = view(1, {member(2, 1), member(5, 3), member(9, 1)});
  EXPECT_EQ(v.size(), 3U);
  ASSERT_NE(v.find(NodeId(5)), nullptr);
  EXPECT_EQ(v.find(NodeId(5))->incarnation, Incarnation(3));
  EXPECT_EQ(v.find(NodeId(4)), nullptr);
  EXPECT_EQ(v.find(NodeId(10)), nullptr);
  EXPECT_EQ(v.rank_of(NodeId(9)), Rank(2));
  EXPECT_EQ(v.rank_of(NodeId(3)), std::nullopt);
  EXPECT_EQ(v.at(Rank(1)), NodeId(5));
  EXPECT_TRUE(v.has(NodeId(5), Incarnation(3)));
  EXPECT_FALSE(v.has(NodeId(5), Incarnation(2)));
  EXPECT_EQ(describe(v), "view 1: 2.1 5.3 9.1");
  EXPECT_EQ(View().find(NodeId(0)), nullptr);
}

TEST(View, TheHashTellsWhoIsInIt) {
  const View v = view(1, {member(2, 1), member(5, 3)});
  EXPECT_EQ(hash_of(v), hash_of(view(1, {member(2, 1), member(5, 3)})));
  EXPECT_NE(hash_of(v), hash_of(view(1, {member(2, 1), member(5, 4)})));
  EXPECT_NE(hash_of(v), hash_of(view(1, {member(2, 1), member(6, 3)})));
  EXPECT_NE(hash_of(v), hash_of(view(1, {member(2, 1)})));
}

// A state of the coordinator, given by its differences from a quiet one: 10 s after the start, all
// nodes were heard 0.1 s ago.
constexpr Time kNow{10s};

Candidate here(Member m) {
  Candidate c;
  c.member = m;
  c.last_heard = kNow - 100ms;
  return c;
}
Candidate lost(Member m) {
  Candidate c = here(m);
  c.connection_lost = true;
  return c;
}
Candidate silent(Member m, Duration since) {
  Candidate c = here(m);
  c.last_heard = kNow - since;
  return c;
}
Candidate suspected(Member m, std::uint32_t by, std::string why) {
  Candidate c = here(m);
  c.suspected_by = NodeId(by);
  c.why = std::move(why);
  return c;
}
Candidate gone(Member m) {
  Candidate c = here(m);
  c.left = true;
  return c;
}

struct Case {
  std::string name;
  View now;
  std::vector<Candidate> candidates;
  std::string next;    // as describe() prints it; "" if the current view stays
  std::string reason;  // a part of it
  std::size_t expected = 1;
  Time started = Time(0s);
  std::size_t minimum = 1;
  std::string why_end = {};
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

class DecideView : public ::testing::TestWithParam<Case> {};

TEST_P(DecideView, Decides) {
  const Case& c = GetParam();
  CoordinatorState state;
  state.view = c.now;
  state.started = c.started;
  state.candidates = c.candidates;
  state.end = c.why_end.empty() ? Ending::No : Ending::Stopped;
  state.why_end = c.why_end;
  CoordinatorOptions options;
  options.expected = c.expected;
  options.minimum = c.minimum;
  options.form_limit = 5s;
  options.suspect_after = 1s;
  const ViewDecision decision = decide_view(kNow, state, options);
  EXPECT_EQ(decision.view ? describe(*decision.view) : "", c.next);
  EXPECT_THAT(decision.reason, HasSubstr(c.reason));
  EXPECT_FALSE(decision.reason.empty()) << "it always says why";
}

const Member m0 = member(0, 1);
const Member m1 = member(1, 1);
const Member m2 = member(2, 1);

INSTANTIATE_TEST_SUITE_P(
    Forming, DecideView,
    ::testing::Values(
        Case{"WaitsForAll",
             View(),
             {here(m0), here(m1)},
             "",
             "the first view waits: 2 of 3 nodes are here",
             3,
             Time(7s)},
        Case{"AllAreHere",
             View(),
             {here(m2), here(m0), here(m1)},
             "view 1: 0.1 1.1 2.1",
             "node 0.1 in; node 1.1 in; node 2.1 in",
             3,
             Time(7s)},
        Case{"TimeIsUp",
             View(),
             {here(m0), here(m1)},
             "view 1: 0.1 1.1",
             "node 1.1 in",
             3,
             Time(5s)},
        Case{"TimeIsAlmostUp", View(), {here(m0)}, "", "1 of 3", 3, Time(5s) + 1ns},
        Case{
            "MoreThanExpected", View(), {here(m0), here(m1)}, "view 1: 0.1 1.1", "in", 1, Time(7s)},
        Case{"OneDiedBefore", View(), {here(m0), lost(m1), here(m2)}, "", "2 of 3", 3, Time(7s)},
        Case{"NobodyCame", View(), {}, "", "view 0 remains, with 0 members", 3, Time(1s)},
        Case{"AllWhoCameDied", View(), {lost(m0)}, "", "view 0 remains", 3, Time(1s)}),
    [](const auto& param) { return param.param.name; });

const View both = view(4, {m0, m1});
const View three = view(4, {m0, m1, m2});

INSTANTIATE_TEST_SUITE_P(
    Running, DecideView,
    ::testing::Values(
        Case{"Quiet", both, {here(m0), here(m1)}, "", "view 4 remains, with 2 members"},
        Case{"ConnectionLost",
             both,
             {here(m0), lost(m1)},
             "view 5: 0.1",
             "node 1 out (connection lost)"},
        Case{"Silence",
             both,
             {silent(m0, 1200ms), here(m1)},
             "view 5: 1.1",
             "node 0 out (silent for 1.200 s)"},
        Case{"SilenceAtTheLimit", both, {silent(m0, 1s), here(m1)}, "", "remains"},
        Case{"Suspicion",
             both,
             {here(m0), suspected(m1, 0, "no heartbeat from it")},
             "view 5: 0.1",
             "node 1 out (suspected by node 0: no heartbeat from it)"},
        Case{"Goodbye",
             three,
             {here(m0), gone(m1), here(m2)},
             "view 5: 0.1 2.1",
             "node 1 out (left)"},
        Case{"SeveralAtOnce",
             three,
             {lost(m0), gone(m1), here(m2)},
             "view 5: 2.1",
             "node 0 out (connection lost); node 1 out (left)"},
        Case{
            "ANewNode", both, {here(m0), here(m1), here(m2)}, "view 5: 0.1 1.1 2.1", "node 2.1 in"},
        Case{"ANewNodeThatFellSilent", both, {here(m0), here(m1), silent(m2, 2s)}, "", "remains"},
        Case{"OneOutOneIn",
             both,
             {here(m0), lost(m1), here(m2)},
             "view 5: 0.1 2.1",
             "node 1 out (connection lost); node 2.1 in"},
        Case{"FewerThanExpectedIsNoReasonToWait",
             both,
             {here(m0), lost(m1)},
             "view 5: 0.1",
             "out",
             2,
             Time(7s)},
        Case{"NobodyIsLeft", both, {lost(m0), gone(m1)}, "", "no node is left to form a view"}),
    [](const auto& param) { return param.param.name; });

const View last = view(4, {m0});

INSTANTIATE_TEST_SUITE_P(AtLeast, DecideView,
                         ::testing::Values(Case{"TooFewCame",
                                                View(),
                                                {here(m0)},
                                                "",
                                                "waiting: 1 of at least 2 workers are here",
                                                3,
                                                Time(5s),
                                                2},
                                           Case{"EnoughCame",
                                                View(),
                                                {here(m0), here(m1)},
                                                "view 1: 0.1 1.1",
                                                "node 1.1 in",
                                                3,
                                                Time(5s),
                                                2},
                                           Case{"TooFewAreLeft",
                                                three,
                                                {here(m0), lost(m1), lost(m2)},
                                                "",
                                                "waiting: 1 of at least 2 workers are here",
                                                1,
                                                Time(0s),
                                                2},
                                           Case{"EnoughAreLeft",
                                                three,
                                                {here(m0), here(m1), lost(m2)},
                                                "view 5: 0.1 1.1",
                                                "node 2 out (connection lost)",
                                                1,
                                                Time(0s),
                                                2},
                                           Case{"OneHasComeBack",
                                                three,
                                                {here(m0), lost(m1), lost(m2), here(member(2, 2))},
                                                "view 5: 0.1 2.2",
                                                "node 2.2 in",
                                                1,
                                                Time(0s),
                                                2},
                                           Case{"WhoHasFinishedCounts",
                                                both,
                                                {gone(m0), here(m1)},
                                                "view 5: 1.1",
                                                "node 0 out (left)",
                                                1,
                                                Time(0s),
                                                2},
                                           Case{"TheLastOneOfAJobThatEndsMayComeBack",
                                                last,
                                                {lost(m0), here(member(0, 2))},
                                                "view 5: 0.2",
                                                "node 0.2 in",
                                                1,
                                                Time(0s),
                                                2},
                                           Case{"NobodyWaitsInAJobThatEnds",
                                                three,
                                                {here(m0), lost(m1), lost(m2)},
                                                "view 5: 0.1",
                                                "the job ends: Ctrl-C",
                                                1,
                                                Time(0s),
                                                2,
                                                "Ctrl-C"}),
                         [](const auto& param) { return param.param.name; });

TEST(DecideView, AJobThatIsAskedToEndGetsOneViewThatSaysSoAndNoOtherAfterwards) {
  CoordinatorState state;
  state.view = both;
  state.candidates = {here(m0), here(m1)};
  state.end = Ending::Complete;
  state.why_end = "SIGTERM";
  const ViewDecision ends = decide_view(kNow, state, {});
  ASSERT_TRUE(ends.view.has_value());
  EXPECT_EQ(describe(*ends.view), "view 5: 0.1 1.1");
  EXPECT_EQ(ends.view->ending, Ending::Complete);
  EXPECT_EQ(ends.reason, "the job ends: SIGTERM");

  state.view = *ends.view;
  state.end = Ending::No;  // Another coordinator knows only the view.
  EXPECT_FALSE(decide_view(kNow, state, {}).view.has_value());
  state.candidates = {here(m0), lost(m1)};
  const ViewDecision later = decide_view(kNow, state, {});
  ASSERT_TRUE(later.view.has_value());
  EXPECT_EQ(later.view->ending, Ending::Complete);
  EXPECT_EQ(later.reason, "node 1 out (connection lost)");
}

INSTANTIATE_TEST_SUITE_P(
    Incarnations, DecideView,
    ::testing::Values(Case{"TheNewReplacesTheOld",
                           both,
                           {here(m0), here(m1), here(member(1, 2))},
                           "view 5: 0.1 1.2",
                           "node 1.2 in"},
                      Case{"WhateverTheOrderOfAsking",
                           both,
                           {here(member(1, 2)), here(m0), here(m1)},
                           "view 5: 0.1 1.2",
                           "node 1.2 in"},
                      Case{"AfterTheOldWasLost",
                           both,
                           {here(m0), lost(m1), here(member(1, 2))},
                           "view 5: 0.1 1.2",
                           "node 1 out (connection lost); node 1.2 in"},
                      Case{"ANewOneThatDiedAtOnceLeavesTheOld",
                           both,
                           {here(m0), here(m1), lost(member(1, 2))},
                           "",
                           "remains"},
                      // A regression: the order by process came before the order by incarnation.
                      Case{"InAProcessWithASmallerNumber",
                           view(4, {m0, member(1, 1, 70)}),
                           {here(m0), here(member(1, 1, 70)), here(member(1, 2, 3))},
                           "view 5: 0.1 1.2",
                           "node 1.2 in"}),
    [](const auto& param) { return param.param.name; });

TEST(DecideViewPure, DoesNotDependOnTheOrderOfCandidates) {
  std::vector<Candidate> candidates = {here(m0), lost(m1), here(m2), here(member(1, 2))};
  const auto less = [](const Candidate& a, const Candidate& b) { return a.member < b.member; };
  std::sort(candidates.begin(), candidates.end(), less);
  do {
    CoordinatorState state;
    state.view = three;
    state.candidates = candidates;
    const ViewDecision decision = decide_view(kNow, state, CoordinatorOptions());
    ASSERT_TRUE(decision.view);
    EXPECT_EQ(describe(*decision.view), "view 5: 0.1 1.2 2.1");
  } while (std::next_permutation(candidates.begin(), candidates.end(), less));
}

}  // namespace
}  // namespace shoal
