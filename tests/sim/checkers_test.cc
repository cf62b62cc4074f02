// Every checker catches its violation, and passes similar correct runs.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "sim/checkers/checker.h"

namespace shoal {
namespace {

Event event(EventKind kind, std::uint32_t node, std::uint32_t generation, std::uint64_t a = 0,
            std::uint64_t b = 0, std::uint64_t c = 0) {
  Event e;
  e.kind = kind;
  e.node = NodeId(node);
  e.incarnation = Incarnation(1);
  e.generation = Generation(generation);
  e.a = a;
  e.b = b;
  e.c = c;
  return e;
}

std::vector<std::string> verdict(std::unique_ptr<Checker> checker,
                                 const std::vector<Event>& events) {
  Recorder recorder;
  recorder.observe(*checker);
  Time at{};
  for (Event e : events) {
    e.at = at;
    at += Duration(1);
    recorder.record(e);
  }
  EXPECT_GT(checker->seen(), 0U) << "the checker saw nothing";
  return checker->violations();
}

using K = EventKind;

TEST(ReplicasEqual, DifferentBitsAfterOneStepOfOneView) {
  EXPECT_EQ(verdict(make_replicas_equal(),
                    {event(K::StepApplied, 0, 3, 7, 100), event(K::StepApplied, 1, 3, 7, 100),
                     event(K::StepApplied, 2, 4, 7, 999)})
                .size(),
            0U);
  EXPECT_EQ(verdict(make_replicas_equal(),
                    {event(K::StepApplied, 0, 3, 7, 100), event(K::StepApplied, 1, 3, 7, 101)})
                .size(),
            1U);
}

TEST(ReplicasEqual, MembersThatBeginAViewDifferently) {
  EXPECT_EQ(verdict(make_replicas_equal(), {event(K::StateAgreed, 0, 3, 7, 100, 1),
                                            event(K::StateAgreed, 1, 3, 7, 100, 1)})
                .size(),
            0U);
  EXPECT_EQ(verdict(make_replicas_equal(), {event(K::StateAgreed, 0, 3, 7, 100, 1),
                                            event(K::StateAgreed, 1, 3, 8, 100, 1)})
                .size(),
            1U);
}

TEST(ReplicasEqual, ResultsThatDiffer) {
  EXPECT_EQ(verdict(make_replicas_equal(),
                    {event(K::WorkerDone, 0, 1, 7, 100), event(K::WorkerDone, 1, 1, 7, 101)})
                .size(),
            1U);
}

TEST(StepsOnce, AStepTwiceOrLeftOut) {
  const Event begin = event(K::StateAgreed, 0, 1, 5, 0, 1);
  EXPECT_EQ(verdict(make_steps_once(),
                    {begin, event(K::StepApplied, 0, 1, 5), event(K::StepApplied, 0, 1, 6)})
                .size(),
            0U);
  EXPECT_EQ(verdict(make_steps_once(),
                    {begin, event(K::StepApplied, 0, 1, 5), event(K::StepApplied, 0, 1, 5)})
                .size(),
            1U);
  EXPECT_EQ(verdict(make_steps_once(), {begin, event(K::StepApplied, 0, 1, 6)}).size(), 1U);
}

TEST(StepsOnce, AViewThatGoesBackInOneLineage) {
  const std::vector<Event> worked = {event(K::StateAgreed, 0, 1, 5, 0, 1),
                                     event(K::StepApplied, 0, 1, 5)};
  auto back = worked;
  back.push_back(event(K::StateAgreed, 0, 2, 5, 0, 1));
  EXPECT_EQ(verdict(make_steps_once(), back).size(), 1U);
  auto restored = worked;
  restored.push_back(event(K::StateAgreed, 0, 2, 5, 0, 2));  // from a checkpoint: another lineage
  EXPECT_EQ(verdict(make_steps_once(), restored).size(), 0U);
}

TEST(SamplesOnce, AGapAnOverlapAndALedgerThatStandsElsewhere) {
  const auto shares = [](std::uint64_t at, std::uint64_t n, std::uint64_t end) {
    return std::vector<Event>{event(K::ShareAdded, 0, 1, 4, 0, 10),
                              event(K::ShareAdded, 1, 1, 4, at, n),
                              event(K::StepApplied, 0, 1, 4, 0, end)};
  };
  EXPECT_EQ(verdict(make_samples_once(), shares(10, 5, 15)).size(), 0U);
  EXPECT_EQ(verdict(make_samples_once(), shares(11, 4, 15)).size(), 1U);
  EXPECT_EQ(verdict(make_samples_once(), shares(9, 6, 15)).size(), 1U);
  EXPECT_EQ(verdict(make_samples_once(), shares(10, 5, 16)).size(), 1U);
}

TEST(SamplesOnce, AStepThatDoesNotGoOnWhereTheLastEnded) {
  const auto steps = [](std::uint64_t second) {
    return std::vector<Event>{
        event(K::ShareAdded, 0, 1, 4, 0, 10), event(K::StepApplied, 0, 1, 4, 0, 10),
        event(K::ShareAdded, 0, 1, 5, second, 10), event(K::StepApplied, 0, 1, 5, 0, second + 10)};
  };
  EXPECT_EQ(verdict(make_samples_once(), steps(10)).size(), 0U);
  EXPECT_EQ(verdict(make_samples_once(), steps(0)).size(), 1U);  // an epoch begun again
  EXPECT_EQ(verdict(make_samples_once(), steps(12)).size(), 1U);
}

TEST(RangesFree, ABusyRangeThatIsReused) {
  EXPECT_EQ(verdict(make_ranges_free(), {event(K::OpCancelled, 0, 1)}).size(), 0U);
  EXPECT_EQ(verdict(make_ranges_free(), {event(K::OpCancelled, 0, 1), event(K::RangeReused, 0, 1)})
                .size(),
            1U);
}

TEST(ViewsAgree, AViewThatComesLateOrHasOtherMembers) {
  EXPECT_EQ(
      verdict(make_views_agree(), {event(K::ViewSeen, 0, 1, 3, 7), event(K::ViewSeen, 1, 1, 3, 7),
                                   event(K::ViewSeen, 0, 2, 2, 8)})
          .size(),
      0U);
  EXPECT_EQ(
      verdict(make_views_agree(), {event(K::ViewSeen, 0, 2, 3, 7), event(K::ViewSeen, 0, 1, 3, 6)})
          .size(),
      1U);
  EXPECT_EQ(
      verdict(make_views_agree(), {event(K::ViewSeen, 0, 1, 3, 7), event(K::ViewSeen, 1, 1, 3, 8)})
          .size(),
      1U);
}

TEST(NoStaleMessage, AMessageOfAnOldViewInANewOne) {
  const Event old_view = event(K::ViewSeen, 0, 1, 3);
  const Event new_view = event(K::ViewSeen, 0, 2, 3);
  const Event other = event(K::RecvDone, 0, 2);
  EXPECT_EQ(verdict(make_no_stale_message(), {old_view, event(K::RecvDone, 0, 1), new_view, other})
                .size(),
            0U);
  EXPECT_EQ(verdict(make_no_stale_message(), {old_view, new_view, other, event(K::RecvDone, 0, 1)})
                .size(),
            1U);
}

TEST(CheckpointsKept, OneThatWasDoneIsLostOrChanged) {
  const Event begun = event(K::CheckpointBegun, 0, 0, 10, 0xab);
  const Event done = event(K::CheckpointDone, 0, 0, 10, 0xab);
  const auto read = [](std::uint64_t step, std::uint64_t hash, std::uint64_t found) {
    return event(K::CheckpointRead, 1, 3, step, hash, found);
  };
  EXPECT_EQ(verdict(make_checkpoints_kept(), {begun, done, read(10, 0xab, 1)}).size(), 0U);
  EXPECT_EQ(verdict(make_checkpoints_kept(), {begun, done, read(0, 0, 0)}).size(), 1U);
  EXPECT_EQ(verdict(make_checkpoints_kept(), {begun, done, read(5, 0xab, 1)}).size(), 2U);
  EXPECT_EQ(verdict(make_checkpoints_kept(), {begun, done, read(10, 0xac, 1)}).size(), 1U);
  // Begun and not done: a reader may find it or not.
  EXPECT_EQ(verdict(make_checkpoints_kept(), {begun, read(0, 0, 0)}).size(), 0U);
  EXPECT_EQ(verdict(make_checkpoints_kept(), {begun, read(10, 0xab, 1)}).size(), 0U);
}

TEST(ReadsBounded, AWorkerThatIsTooFarAheadReads) {
  EXPECT_EQ(verdict(make_reads_bounded(), {event(K::ReadServed, 0, 0, 7, 4, 3)}).size(), 0U);
  EXPECT_EQ(verdict(make_reads_bounded(), {event(K::ReadServed, 0, 0, 8, 4, 3)}).size(), 1U);
}

// ---- Models that meet

Event with(Event e, std::uint32_t peer) {
  e.peer = NodeId(peer);
  return e;
}
std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

TEST(LettersOnce, OneThatNeverCameOrCameTwiceOrChangedOnItsWay) {
  const Event sent = with(event(K::MessageSent, 0, 3, 2, 77), 1);
  const Event taken = with(event(K::MessageTaken, 1, 3, 2, 77), 0);
  const Event changed = with(event(K::MessageTaken, 1, 3, 2, 78), 0);
  const Event result = event(K::ResultFormed, 2, 3);
  EXPECT_EQ(verdict(make_messages_once(), {sent, taken, result}).size(), 0U);
  EXPECT_EQ(verdict(make_messages_once(), {sent, taken, taken}).size(), 1U);
  EXPECT_EQ(verdict(make_messages_once(), {sent, changed}).size(), 1U);
  EXPECT_EQ(verdict(make_messages_once(), {sent, result}).size(), 1U);
  // The previous view's message is lost, and does not count any more.
  EXPECT_EQ(verdict(make_messages_once(), {sent, event(K::ResultFormed, 2, 4)}).size(), 0U);
}

TEST(WeightsConserved, WhatIsSentIsNotKeptAndComes) {
  const Event view = event(K::ViewSeen, 0, 3, 2);
  const Event first = event(K::WeightHeld, 0, 3, bits(0.5));
  const Event second = event(K::WeightHeld, 1, 3, bits(0.5));
  const Event sent = with(event(K::WeightSent, 0, 3, bits(0.25), bits(0.25)), 1);
  const Event kept = with(event(K::WeightSent, 0, 3, bits(0.25), bits(0.5)), 1);
  const Event taken = with(event(K::WeightTaken, 1, 3, bits(0.25), bits(0.75)), 0);
  const Event other = with(event(K::WeightTaken, 1, 3, bits(0.125), bits(0.625)), 0);
  EXPECT_EQ(verdict(make_weights_conserved(), {view, first, second, sent, taken}).size(), 0U);
  EXPECT_EQ(verdict(make_weights_conserved(), {view, first, sent, second, taken}).size(), 0U);
  EXPECT_GE(verdict(make_weights_conserved(), {view, first, second, kept}).size(), 1U);
  EXPECT_GE(verdict(make_weights_conserved(), {view, first, second, taken}).size(), 1U);
  EXPECT_GE(verdict(make_weights_conserved(), {view, first, second, sent, other}).size(), 1U);
}

TEST(WeightsConserved, AViewBeginsWithASumOfOne) {
  const Event view = event(K::ViewSeen, 0, 4, 2);
  const Event first = event(K::WeightHeld, 0, 4, bits(0.5));
  const Event less = event(K::WeightHeld, 2, 4, bits(0.25));
  EXPECT_EQ(verdict(make_weights_conserved(), {view, first}).size(), 0U);
  EXPECT_EQ(verdict(make_weights_conserved(), {view, first, less}).size(), 1U);
}

TEST(MeetingsConserve, MovesOfAnExchangeAddUpToNothing) {
  const Event view = event(K::ViewSeen, 0, 3, 3);
  const auto moved = [](std::uint32_t node, double by, std::uint64_t number = 7) {
    return event(K::ModelMoved, node, 3, bits(by), bits(100), number);
  };
  const auto by_all = [&](double last) {
    return verdict(make_meetings_conserve(),
                   {view, with(moved(0, 1), kNobody.value()), with(moved(1, 2), kNobody.value()),
                    with(moved(2, last), kNobody.value())});
  };
  EXPECT_EQ(by_all(-3).size(), 0U);
  EXPECT_EQ(by_all(-3.0001).size(), 0U);  // rounding
  EXPECT_EQ(by_all(-3.1).size(), 1U);
  const auto by_two = [&](double last) {
    return verdict(make_meetings_conserve(),
                   {view, with(moved(0, 1), 1), with(moved(0, 2), 1), with(moved(1, -1), 0),
                    with(moved(1, last), 0), event(K::ResultFormed, 2, 3)});
  };
  EXPECT_EQ(by_two(-2).size(), 0U);
  EXPECT_EQ(by_two(-1).size(), 1U);
  EXPECT_EQ(verdict(make_meetings_conserve(), {view, with(moved(1, 0), 1)}).size(), 0U);
  EXPECT_EQ(verdict(make_meetings_conserve(), {view, with(moved(1, 1), 1)}).size(), 1U);
}

TEST(MeetingsConserve, NoneIsHalfDoneWhenAResultIsFormed) {
  const Event half = with(event(K::ModelMoved, 0, 3, bits(1), bits(10)), 1);
  EXPECT_EQ(verdict(make_meetings_conserve(), {half, event(K::ResultFormed, 2, 3)}).size(), 1U);
  EXPECT_EQ(verdict(make_meetings_conserve(), {half, event(K::ResultFormed, 2, 4)}).size(), 0U);
}

}  // namespace
}  // namespace shoal
