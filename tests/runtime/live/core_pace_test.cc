// When a computing thread leaves its core.
#include "runtime/live/core_pace.h"

#include <gtest/gtest.h>

#include <chrono>

namespace shoal {
namespace {

using std::chrono::milliseconds;

// Consecutive pieces, after the first ones, which may run on any core.
struct Timed {
  Timed() {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(leaves(i, 100)) << i;
    fast(0, 6);
  }
  bool leaves(int core, int took_ms) {
    now += milliseconds(took_ms);
    return pace.leave(core, now, milliseconds(took_ms));
  }
  void fast(int core, int pieces) {
    for (int i = 0; i < pieces; ++i) EXPECT_FALSE(leaves(core, 100 + i % 8)) << i;
  }
  // The number of pieces until it leaves the core.
  int slow(int core, int took_ms) {
    int pieces = 1;
    while (!leaves(core, took_ms) && pieces < 1000) ++pieces;
    return pieces;
  }
  CorePace pace{Seed(7)};
  Time now{};
};

TEST(CorePace, LeavesACoreThatStaysSlowAndKeepsAwayFromItForAWhile) {
  Timed p;
  EXPECT_FALSE(p.leaves(0, 180)) << "one slow piece";
  p.fast(0, 6);
  const int pieces = p.slow(0, 180);
  EXPECT_GE(pieces, 2);
  EXPECT_LE(pieces, 12);
  EXPECT_TRUE(p.pace.slow_lately(0, p.now));
  EXPECT_FALSE(p.pace.slow_lately(4, p.now));
  p.fast(4, 20);
  EXPECT_FALSE(p.pace.slow_lately(0, p.now)) << "whoever was there comes and goes";
}

TEST(CorePace, FindsOutAtFirstWhatAFastCoreIs) {
  CorePace pace(Seed(1));
  Time now{};
  int left = 0;
  const auto piece = [&](int core, int took_ms) {
    now += milliseconds(took_ms);
    left += pace.leave(core, now, milliseconds(took_ms)) ? 1 : 0;
  };
  for (int core = 0; core < 4; ++core) piece(core, core == 2 ? 100 : 180);
  EXPECT_EQ(left, 4);
  for (int i = 0; i < 12; ++i) piece(4, 180);
  EXPECT_GE(left, 5) << "it was on a fast core once, and knows";
}

TEST(CorePace, OfTwoOnTheSameCoreOnlyOneLeavesAsARule) {
  int one = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    CorePace a{Seed(2 * i)}, b{Seed(2 * i + 1)};
    Time now{};
    bool a_left = false, b_left = false;
    for (int piece = 0; piece < 100 && !a_left && !b_left; ++piece) {
      now += milliseconds(100);
      const Duration took = milliseconds(piece < 10 ? 100 : 170);
      a_left = a.leave(0, now, took) && piece >= 4;
      b_left = b.leave(1, now, took) && piece >= 4;
    }
    one += a_left != b_left ? 1 : 0;
  }
  EXPECT_GT(one, 50);
}

TEST(CorePace, WhereNoOtherCoreIsFasterMovesBecomeRare) {
  Timed p;
  p.fast(0, 64);
  int moves = 0;
  for (int i = 0; i < 1000; ++i) moves += p.leaves(i % 16, 200) ? 1 : 0;
  EXPECT_GE(moves, 5);
  EXPECT_LE(moves, 16);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(p.leaves(0, 200)) << "by now that is what they take";
}

TEST(CorePace, AShortPieceNowAndThenMakesTheOthersNoSlower) {
  Timed p;
  p.fast(0, 64);
  for (int i = 0; i < 2000; ++i) EXPECT_FALSE(p.leaves(0, i % 25 == 7 ? 20 : 100)) << i;
}

TEST(CorePace, ShortPiecesAreNotWorthIt) {
  CorePace pace(Seed(1));
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(pace.leave(0, Time(milliseconds(i)), std::chrono::microseconds(i % 9 * 100)));
}

}  // namespace
}  // namespace shoal
