#include "ps/dealer.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

constexpr Incarnation kLife{1};

Dealer::Wish wish(std::uint32_t worker, std::uint64_t number, std::uint64_t settled,
                  std::uint64_t n = 4, Incarnation life = kLife) {
  return {NodeId(worker), life, number, settled, n};
}
std::uint64_t ended(const Dealer& dealer, SampleEnd end) {
  return dealer.tally().ended[static_cast<std::size_t>(end)];
}

class DealerTest : public testing::Test {
 protected:
  Dealer dealer{Ledger(Seed(3), 10), {.epochs = 2, .blocks = 2}};
};

TEST_F(DealerTest, WhoAsksTheSameAgainGetsTheSame) {
  const Share first = dealer.deal(wish(0, 5, 5));
  EXPECT_EQ(first.n, 4U);
  EXPECT_EQ(dealer.deal(wish(0, 5, 5)), first);
  EXPECT_NE(dealer.deal(wish(0, 6, 5)), first);
  EXPECT_EQ(dealer.deal(wish(0, 5, 5)), first);
}

TEST_F(DealerTest, AShareEndsWhenAllShardsHaveIt) {
  dealer.deal(wish(0, 0, 0));
  dealer.deal(wish(0, 1, 0));
  EXPECT_EQ(ended(dealer, SampleEnd::Applied), 0U);
  dealer.deal(wish(0, 2, 2));
  EXPECT_EQ(ended(dealer, SampleEnd::Applied), 8U);
}

TEST_F(DealerTest, NothingIsDealtBeforeTheEpochsEndIsPast) {
  for (std::uint64_t i = 0; i < 3; ++i) dealer.deal(wish(0, i, i));
  EXPECT_EQ(dealer.left(), 0U);
  EXPECT_FALSE(dealer.over());
  EXPECT_EQ(dealer.deal(wish(0, 3, 3)).n, 0U);
  EXPECT_TRUE(dealer.over());
  EXPECT_EQ(dealer.errand(0), Dealer::Errand::Evaluate);
  Score score;
  score.samples = 7;
  dealer.score(0, 1, score);
  dealer.score(0, 0, score);
  EXPECT_EQ(dealer.errand(0), Dealer::Errand::Save);
  dealer.saved(0);
  EXPECT_EQ(dealer.errand(0), Dealer::Errand::GoOn);
  EXPECT_EQ(dealer.total().samples, 14U);
  EXPECT_TRUE(dealer.at_start());
  EXPECT_EQ(dealer.left(), 10U);
  for (std::uint64_t i = 3; i < 6; ++i) dealer.deal(wish(0, i, i));
  dealer.deal(wish(0, 6, 6));
  for (std::uint32_t b = 0; b < 2; ++b) dealer.score(1, b, score);
  dealer.saved(1);
  EXPECT_EQ(dealer.errand(1), Dealer::Errand::End);
  EXPECT_EQ(ended(dealer, SampleEnd::Applied), 20U);
}

TEST_F(DealerTest, WhatALostWorkerDidNowhereIsDealtAgain) {
  const Share first = dealer.deal(wish(0, 0, 0));
  const Share second = dealer.deal(wish(0, 1, 0));
  dealer.lose(NodeId(0), kLife, 1, SampleEnd::Partial);
  EXPECT_EQ(ended(dealer, SampleEnd::Partial), first.n);
  EXPECT_EQ(dealer.deal(wish(1, 0, 0)), second);
  EXPECT_TRUE(dealer.open().find(NodeId(0)) == dealer.open().end());
}

TEST_F(DealerTest, WhatSomebodyWhoLeftNeverHeardOfGoesToOthers) {
  const Share first = dealer.deal(wish(0, 0, 0));
  const Share unheard = dealer.deal(wish(0, 1, 0));
  dealer.leave(NodeId(0), kLife, 1);
  EXPECT_EQ(ended(dealer, SampleEnd::Applied), first.n);
  EXPECT_EQ(dealer.deal(wish(1, 0, 0)), unheard);
}

TEST_F(DealerTest, WhatWasRejectedEndsAsDropped) {
  dealer.deal(wish(0, 0, 0));
  dealer.drop(NodeId(0), kLife, 0);
  dealer.deal(wish(0, 1, 1));
  EXPECT_EQ(ended(dealer, SampleEnd::Dropped), 4U);
  EXPECT_EQ(ended(dealer, SampleEnd::Applied), 0U);
}

TEST_F(DealerTest, TheRestIsToldOnceBeforeAnythingIsEvaluated) {
  Dealer one(Ledger(Seed(3), 4), {.epochs = 1, .blocks = 1, .rest = true});
  one.deal(wish(0, 0, 0));
  one.deal(wish(0, 1, 1));
  EXPECT_EQ(one.errand(0), Dealer::Errand::Rest);
  one.rest_told(0);
  EXPECT_EQ(one.errand(0), Dealer::Errand::Evaluate);
}

TEST_F(DealerTest, TheLastEpochMayBeShort) {
  Dealer one(Ledger(Seed(3), 10), {.epochs = 1, .last = 6});
  EXPECT_EQ(one.left(), 6U);
  one.deal(wish(0, 0, 0));
  EXPECT_EQ(one.deal(wish(0, 1, 0)).n, 2U);
  EXPECT_EQ(one.left(), 0U);
  EXPECT_FALSE(one.over());
  one.deal(wish(0, 2, 2));
  EXPECT_TRUE(one.over());
  EXPECT_EQ(one.errand(0), Dealer::Errand::Save);
  one.saved(0);
  EXPECT_EQ(one.errand(0), Dealer::Errand::End);
  EXPECT_EQ(one.ended(), 6U);
}

TEST_F(DealerTest, WhatIsOutWhenItIsStoppedEndsAndIsSaved) {
  dealer.deal(wish(0, 0, 0));
  dealer.stop(Ending::Stopped);
  EXPECT_EQ(dealer.left(), 0U);
  EXPECT_FALSE(dealer.over());
  EXPECT_EQ(dealer.deal(wish(0, 1, 1)).n, 0U);
  EXPECT_TRUE(dealer.over());
  EXPECT_EQ(dealer.errand(0), Dealer::Errand::Save) << "nothing is evaluated";
  dealer.saved(0);
  EXPECT_EQ(dealer.errand(0), Dealer::Errand::End);
  // Another run goes on where it stands.
  Dealer next(Ledger(Seed(3), 10), {.epochs = 2});
  next.restore(dealer.place());
  EXPECT_EQ(next.left(), 6U);
}

TEST_F(DealerTest, WhatIsOutWhenItsTimeIsSpentEndsAndIsEvaluated) {
  dealer.deal(wish(0, 0, 0));
  dealer.stop(Ending::Complete);
  EXPECT_EQ(dealer.deal(wish(0, 1, 1)).n, 0U);
  EXPECT_TRUE(dealer.over());
  Dealer copy(Ledger(Seed(3), 10), {.epochs = 2, .blocks = 2});
  copy.restore(dealer.words());
  for (Dealer* const one : {&dealer, &copy}) {
    for (std::uint32_t block = 0; block < 2; ++block) {
      EXPECT_EQ(one->errand(0), Dealer::Errand::Evaluate) << block;
      one->score(0, block, Score{});
    }
    EXPECT_EQ(one->errand(0), Dealer::Errand::Save);
    one->saved(0);
    EXPECT_EQ(one->errand(0), Dealer::Errand::End);
  }
}

TEST_F(DealerTest, AnEpochThatWasLostIsNotAtItsStart) {
  EXPECT_FALSE(dealer.at_start()) << "workers may be in the middle of a step";
  dealer.begin_job();
  EXPECT_TRUE(dealer.at_start());
  dealer.restore(dealer.place());
  EXPECT_FALSE(dealer.at_start());
}

TEST_F(DealerTest, StoppedBetweenEpochsNothingMoreIsBegun) {
  dealer.stop(Ending::Stopped);
  EXPECT_TRUE(dealer.over());
  EXPECT_EQ(dealer.errand(0), Dealer::Errand::End);
}

TEST_F(DealerTest, ARoundIsEndedByThoseWhoHaveAPieceOfIt) {
  const RoundPiece all{NodeId(3), kLife, 0, 2};
  dealer.deal_round(0, 6, std::span(&all, 1));
  EXPECT_FALSE(dealer.settles_round(NodeId(3), kLife, 0)) << "it is at it";
  EXPECT_TRUE(dealer.settles_round(NodeId(3), kLife, 1));
  // Of a round that was dealt before the dealer was loaded.
  EXPECT_FALSE(dealer.settles_round(NodeId(2), kLife, 2));
  dealer.leave(NodeId(2), kLife, 2);
  ASSERT_TRUE(dealer.round().has_value());
  EXPECT_EQ(ended(dealer, SampleEnd::Applied), 0U);
  dealer.leave(NodeId(3), kLife, 1);
  EXPECT_FALSE(dealer.round().has_value());
  EXPECT_EQ(ended(dealer, SampleEnd::Applied), 6U);
}

// It may have been of several workers, and the first that tells of it is not the only one.
TEST_F(DealerTest, ARoundThatIsRecalledIsEndedByAnyOfItsWorkers) {
  const RoundPiece some{NodeId(3), kLife, 0, 1};
  dealer.recall_round({4, {0, 0, 6}}, std::span(&some, 1));
  EXPECT_FALSE(dealer.settles_round(NodeId(2), kLife, 4));
  EXPECT_TRUE(dealer.settles_round(NodeId(2), kLife, 5));
}

TEST_F(DealerTest, ItsWordsAreAllOfIt) {
  dealer.deal(wish(0, 0, 0));
  dealer.deal(wish(1, 4, 4, 3));
  dealer.drop(NodeId(1), kLife, 4);
  Dealer copy(Ledger(Seed(3), 10), {.epochs = 2, .blocks = 2});
  copy.restore(dealer.words());
  EXPECT_EQ(copy.words(), dealer.words());
  EXPECT_EQ(copy.deal(wish(0, 0, 0)), dealer.deal(wish(0, 0, 0)));
  EXPECT_EQ(copy.deal(wish(2, 0, 0)), dealer.deal(wish(2, 0, 0)));
  copy.deal(wish(1, 5, 5));
  dealer.deal(wish(1, 5, 5));
  EXPECT_EQ(copy.words(), dealer.words());
  EXPECT_EQ(ended(copy, SampleEnd::Dropped), 3U);
}

}  // namespace
}  // namespace shoal
