#include "ps/sample_scheduler.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

constexpr Incarnation kLife{1};

Wish wish(std::uint32_t worker, std::uint64_t number, std::uint64_t settled, std::uint64_t n = 4,
          Incarnation life = kLife) {
  return {NodeId(worker), life, number, settled, n};
}
std::uint64_t ended(const SampleScheduler& scheduler, SampleEnd end) {
  return scheduler.tally().ended[static_cast<std::size_t>(end)];
}

class SampleSchedulerTest : public testing::Test {
 protected:
  SampleScheduler scheduler{Ledger(Seed(3), 10), {.epochs = 2, .blocks = 2}};
};

TEST_F(SampleSchedulerTest, WhoAsksTheSameAgainGetsTheSame) {
  const Share first = scheduler.deal(wish(0, 5, 5));
  EXPECT_EQ(first.n, 4U);
  EXPECT_EQ(scheduler.deal(wish(0, 5, 5)), first);
  EXPECT_NE(scheduler.deal(wish(0, 6, 5)), first);
  EXPECT_EQ(scheduler.deal(wish(0, 5, 5)), first);
}

TEST_F(SampleSchedulerTest, AShareEndsWhenAllShardsHaveIt) {
  scheduler.deal(wish(0, 0, 0));
  scheduler.deal(wish(0, 1, 0));
  EXPECT_EQ(ended(scheduler, SampleEnd::Applied), 0U);
  scheduler.deal(wish(0, 2, 2));
  EXPECT_EQ(ended(scheduler, SampleEnd::Applied), 8U);
}

TEST_F(SampleSchedulerTest, NothingIsDealtBeforeTheEpochsEndIsPast) {
  for (std::uint64_t i = 0; i < 3; ++i) scheduler.deal(wish(0, i, i));
  EXPECT_EQ(scheduler.left(), 0U);
  EXPECT_FALSE(scheduler.over());
  EXPECT_EQ(scheduler.deal(wish(0, 3, 3)).n, 0U);
  EXPECT_TRUE(scheduler.over());
  EXPECT_EQ(scheduler.task(0), EndOfEpochTask::Evaluate);
  Score score;
  score.samples = 7;
  scheduler.score(0, 1, score);
  scheduler.score(0, 0, score);
  EXPECT_EQ(scheduler.task(0), EndOfEpochTask::Save);
  scheduler.saved(0);
  EXPECT_EQ(scheduler.task(0), EndOfEpochTask::Continue);
  EXPECT_EQ(scheduler.epoch_end().total().samples, 14U);
  EXPECT_TRUE(scheduler.at_start());
  EXPECT_EQ(scheduler.left(), 10U);
  for (std::uint64_t i = 3; i < 6; ++i) scheduler.deal(wish(0, i, i));
  scheduler.deal(wish(0, 6, 6));
  for (std::uint32_t b = 0; b < 2; ++b) scheduler.score(1, b, score);
  scheduler.saved(1);
  EXPECT_EQ(scheduler.task(1), EndOfEpochTask::Finish);
  EXPECT_EQ(ended(scheduler, SampleEnd::Applied), 20U);
}

TEST_F(SampleSchedulerTest, WhatALostWorkerDidNowhereIsDealtAgain) {
  const Share first = scheduler.deal(wish(0, 0, 0));
  const Share second = scheduler.deal(wish(0, 1, 0));
  scheduler.lose(NodeId(0), kLife, 1, SampleEnd::Partial);
  EXPECT_EQ(ended(scheduler, SampleEnd::Partial), first.n);
  EXPECT_EQ(scheduler.deal(wish(1, 0, 0)), second);
  EXPECT_TRUE(!scheduler.shares().all().contains(NodeId(0)));
}

TEST_F(SampleSchedulerTest, WhatSomebodyWhoLeftNeverHeardOfGoesToOthers) {
  const Share first = scheduler.deal(wish(0, 0, 0));
  const Share unheard = scheduler.deal(wish(0, 1, 0));
  scheduler.leave(NodeId(0), kLife, 1);
  EXPECT_EQ(ended(scheduler, SampleEnd::Applied), first.n);
  EXPECT_EQ(scheduler.deal(wish(1, 0, 0)), unheard);
}

TEST_F(SampleSchedulerTest, WhatWasRejectedEndsAsDropped) {
  scheduler.deal(wish(0, 0, 0));
  scheduler.drop(NodeId(0), kLife, 0);
  scheduler.deal(wish(0, 1, 1));
  EXPECT_EQ(ended(scheduler, SampleEnd::Dropped), 4U);
  EXPECT_EQ(ended(scheduler, SampleEnd::Applied), 0U);
}

TEST_F(SampleSchedulerTest, BuffersAreSentOnceBeforeAnythingIsEvaluated) {
  SampleScheduler one(Ledger(Seed(3), 4), {.epochs = 1, .blocks = 1, .buffers = true});
  one.deal(wish(0, 0, 0));
  one.deal(wish(0, 1, 1));
  EXPECT_EQ(one.task(0), EndOfEpochTask::SendBuffers);
  one.buffers_sent(0);
  EXPECT_EQ(one.task(0), EndOfEpochTask::Evaluate);
}

TEST_F(SampleSchedulerTest, TheLastEpochMayBeShort) {
  SampleScheduler one(Ledger(Seed(3), 10), {.epochs = 1, .last = 6});
  EXPECT_EQ(one.left(), 6U);
  one.deal(wish(0, 0, 0));
  EXPECT_EQ(one.deal(wish(0, 1, 0)).n, 2U);
  EXPECT_EQ(one.left(), 0U);
  EXPECT_FALSE(one.over());
  one.deal(wish(0, 2, 2));
  EXPECT_TRUE(one.over());
  EXPECT_EQ(one.task(0), EndOfEpochTask::Save);
  one.saved(0);
  EXPECT_EQ(one.task(0), EndOfEpochTask::Finish);
  EXPECT_EQ(one.ended(), 6U);
}

TEST_F(SampleSchedulerTest, WhatIsOutWhenItIsStoppedEndsAndIsSaved) {
  scheduler.deal(wish(0, 0, 0));
  scheduler.stop(Ending::Stopped);
  EXPECT_EQ(scheduler.left(), 0U);
  EXPECT_FALSE(scheduler.over());
  EXPECT_EQ(scheduler.deal(wish(0, 1, 1)).n, 0U);
  EXPECT_TRUE(scheduler.over());
  EXPECT_EQ(scheduler.task(0), EndOfEpochTask::Save) << "nothing is evaluated";
  scheduler.saved(0);
  EXPECT_EQ(scheduler.task(0), EndOfEpochTask::Finish);
  // Another run continues where it stands.
  SampleScheduler next(Ledger(Seed(3), 10), {.epochs = 2});
  next.restore(scheduler.place());
  EXPECT_EQ(next.left(), 6U);
}

TEST_F(SampleSchedulerTest, WhatIsOutWhenItsTimeIsSpentEndsAndIsEvaluated) {
  scheduler.deal(wish(0, 0, 0));
  scheduler.stop(Ending::Complete);
  EXPECT_EQ(scheduler.deal(wish(0, 1, 1)).n, 0U);
  EXPECT_TRUE(scheduler.over());
  SampleScheduler copy(Ledger(Seed(3), 10), {.epochs = 2, .blocks = 2});
  copy.restore(scheduler.words());
  for (SampleScheduler* const one : {&scheduler, &copy}) {
    for (std::uint32_t block = 0; block < 2; ++block) {
      EXPECT_EQ(one->task(0), EndOfEpochTask::Evaluate) << block;
      one->score(0, block, Score{});
    }
    EXPECT_EQ(one->task(0), EndOfEpochTask::Save);
    one->saved(0);
    EXPECT_EQ(one->task(0), EndOfEpochTask::Finish);
  }
}

TEST_F(SampleSchedulerTest, AnEpochThatWasLostIsNotAtItsStart) {
  EXPECT_FALSE(scheduler.at_start()) << "workers may be in the middle of a step";
  scheduler.begin_job();
  EXPECT_TRUE(scheduler.at_start());
  scheduler.restore(scheduler.place());
  EXPECT_FALSE(scheduler.at_start());
}

TEST_F(SampleSchedulerTest, StoppedBetweenEpochsNothingMoreIsBegun) {
  scheduler.stop(Ending::Stopped);
  EXPECT_TRUE(scheduler.over());
  EXPECT_EQ(scheduler.task(0), EndOfEpochTask::Finish);
}

TEST_F(SampleSchedulerTest, ARoundIsEndedByThoseWhoHaveAPieceOfIt) {
  const RoundPiece all{NodeId(3), kLife, 0, 2};
  scheduler.deal_round(0, 6, std::span(&all, 1));
  EXPECT_FALSE(scheduler.dealt_round().settled_by(NodeId(3), kLife, 0)) << "it is at it";
  EXPECT_TRUE(scheduler.dealt_round().settled_by(NodeId(3), kLife, 1));
  // A report for a round that was dealt before the scheduler was loaded.
  EXPECT_FALSE(scheduler.dealt_round().settled_by(NodeId(2), kLife, 2));
  scheduler.leave(NodeId(2), kLife, 2);
  ASSERT_TRUE(scheduler.dealt_round().round().has_value());
  EXPECT_EQ(ended(scheduler, SampleEnd::Applied), 0U);
  scheduler.leave(NodeId(3), kLife, 1);
  EXPECT_FALSE(scheduler.dealt_round().round().has_value());
  EXPECT_EQ(ended(scheduler, SampleEnd::Applied), 6U);
}

// It may have had several workers; any of them may report its end, and the others follow.
TEST_F(SampleSchedulerTest, ARoundThatIsRecalledIsEndedByAnyOfItsWorkers) {
  const RoundPiece some{NodeId(3), kLife, 0, 1};
  scheduler.recall_round({4, {0, 0, 6}}, std::span(&some, 1));
  EXPECT_FALSE(scheduler.dealt_round().settled_by(NodeId(2), kLife, 4));
  EXPECT_TRUE(scheduler.dealt_round().settled_by(NodeId(2), kLife, 5));
}

TEST_F(SampleSchedulerTest, ItsWordsAreAllOfIt) {
  scheduler.deal(wish(0, 0, 0));
  scheduler.deal(wish(1, 4, 4, 3));
  scheduler.drop(NodeId(1), kLife, 4);
  SampleScheduler copy(Ledger(Seed(3), 10), {.epochs = 2, .blocks = 2});
  copy.restore(scheduler.words());
  EXPECT_EQ(copy.words(), scheduler.words());
  EXPECT_EQ(copy.deal(wish(0, 0, 0)), scheduler.deal(wish(0, 0, 0)));
  EXPECT_EQ(copy.deal(wish(2, 0, 0)), scheduler.deal(wish(2, 0, 0)));
  copy.deal(wish(1, 5, 5));
  scheduler.deal(wish(1, 5, 5));
  EXPECT_EQ(copy.words(), scheduler.words());
  EXPECT_EQ(ended(copy, SampleEnd::Dropped), 3U);
}

}  // namespace
}  // namespace shoal
