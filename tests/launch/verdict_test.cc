// How the end of a process affects the job.
#include "launch/verdict.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

const Ended kFine{0, 0};
const Ended kFailed{7, 0};
const Ended kKilled{0, 9};

TEST(Verdict, AllWellIsWell) {
  Verdict verdict({});
  EXPECT_EQ(verdict.ended(0, kFine, false), Next::Wait);
  EXPECT_EQ(verdict.ended(1, kFine, false), Next::Wait);
  EXPECT_EQ(verdict.status(), 0);
}

TEST(Verdict, TheFirstFailureEndsTheOthersAndIsTheStatus) {
  Verdict verdict({});
  EXPECT_EQ(verdict.ended(2, kKilled, false), Next::EndOthers);
  EXPECT_EQ(verdict.ended(0, kFailed, true), Next::Wait);
  EXPECT_EQ(verdict.ended(1, kFine, true), Next::Wait);
  EXPECT_EQ(verdict.status(), 137);
  ASSERT_TRUE(verdict.first_failure().has_value());
  EXPECT_EQ(verdict.first_failure()->rank, 2U);
}

TEST(Verdict, RestartsAreCountedOverAllRanks) {
  Verdict verdict({.restarts = 2});
  EXPECT_EQ(verdict.ended(0, kFailed, false), Next::Restart);
  EXPECT_EQ(verdict.ended(1, kFailed, false), Next::Restart);
  EXPECT_EQ(verdict.ended(0, kFine, false), Next::Wait);
  EXPECT_EQ(verdict.status(), 0) << "whoever was started again and finished has not failed";
  EXPECT_EQ(verdict.ended(1, kKilled, false), Next::EndOthers);
  EXPECT_EQ(verdict.status(), 137);
}

TEST(Verdict, NobodyIsStartedAgainWhileTheJobEnds) {
  Verdict verdict({.restarts = 5});
  EXPECT_EQ(verdict.ended(0, kKilled, true), Next::Wait);
  EXPECT_EQ(verdict.status(), 137);
}

TEST(Verdict, AJobThatKeepsGoingFailsOnlyIfNobodyFinishes) {
  Verdict verdict({.keep_going = true});
  EXPECT_EQ(verdict.ended(0, kFailed, false), Next::Wait);
  EXPECT_EQ(verdict.ended(1, kKilled, false), Next::Wait);
  EXPECT_EQ(verdict.status(), 7);
  EXPECT_EQ(verdict.ended(2, kFine, false), Next::Wait);
  EXPECT_EQ(verdict.status(), 0);
}

TEST(Ended, IsToldAsShellsTellIt) {
  EXPECT_EQ(describe(kFailed), "exit status 7");
  EXPECT_EQ(describe(kKilled), "killed by signal 9 (Killed)");
  EXPECT_EQ(kKilled.status(), 137);
}

TEST(Verdict, WhoFailsByItselfIsNotStartedAgainWhereOnlyTheKilledAre) {
  Verdict verdict({.restarts = 5, .only_killed = true});
  EXPECT_EQ(verdict.ended(0, kKilled, false), Next::Restart);
  EXPECT_EQ(verdict.ended(1, Ended{137, 0}, false), Next::Restart) << "killed on another host";
  EXPECT_EQ(verdict.ended(2, kFailed, false), Next::EndOthers);
  EXPECT_EQ(verdict.status(), 7);
}

TEST(Verdict, ToHaveStoppedWhenAskedToIsNoFailure) {
  Verdict verdict({.stopped = 3});
  const Ended stopped{3, 0};
  EXPECT_FALSE(verdict.failed(stopped, false));
  EXPECT_FALSE(verdict.failed(Ended{0, 15}, true)) << "before it could say so";
  EXPECT_TRUE(verdict.failed(Ended{0, 15}, false));
  EXPECT_EQ(verdict.ended(0, stopped, true), Next::Wait);
  EXPECT_EQ(verdict.ended(1, kFine, true), Next::Wait);
  EXPECT_FALSE(verdict.first_failure().has_value());
  EXPECT_EQ(verdict.status(), 3);
  EXPECT_EQ(verdict.ended(2, kFailed, true), Next::Wait);
  EXPECT_EQ(verdict.status(), 7) << "a failure says more";
}

}  // namespace
}  // namespace shoal
