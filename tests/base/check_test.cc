#include "base/check.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <optional>

#include "base/types.h"

namespace shoal {
namespace {

TEST(Check, PassesInSilenceAndEvaluatesOnce) {
  int evaluations = 0;
  const auto next = [&] { return ++evaluations; };
  SHOAL_CHECK(next() == 1);
  SHOAL_CHECK_EQ(next(), 2, "with a message {}", 3);
  SHOAL_CHECK_LT(next(), 4);
  SHOAL_CHECK_NE(1, 2);
  SHOAL_CHECK_LE(2, 2);
  SHOAL_CHECK_GE(2, 2);
  SHOAL_CHECK_GT(3, 2);
  EXPECT_EQ(evaluations, 3);
}

TEST(Check, DoesNotFormatItsMessageWhenItPasses) {
  int formatted = 0;
  const auto costly = [&] { return ++formatted; };
  SHOAL_CHECK(true, "{}", costly());
  SHOAL_CHECK_EQ(1, 1, "{}", costly());
  EXPECT_EQ(formatted, 0);
}

TEST(Check, IsOneStatementAfterIf) {
  bool reached = false;
  if (false)
    SHOAL_CHECK(false);
  else
    reached = true;
  EXPECT_TRUE(reached);
}

TEST(CheckDeathTest, SaysWhereWhatAndWhy) {
  EXPECT_DEATH(SHOAL_CHECK(1 + 1 == 3, "bucket {} left early", 7),
               "check_test\\.cc:[0-9]+: check failed: 1 \\+ 1 == 3: bucket 7 left early");
  EXPECT_DEATH(SHOAL_CHECK(false), "check failed: false\n");
}

TEST(CheckDeathTest, PrintsBothValues) {
  const Bytes received(11);
  const Bytes expected(12);
  EXPECT_DEATH(SHOAL_CHECK_EQ(received, expected), "received == expected: 11 against 12");
  EXPECT_DEATH(SHOAL_CHECK_GT(NodeId(1), NodeId(2), "ranks {}", 3),
               "NodeId\\(1\\) > NodeId\\(2\\): 1 against 2: ranks 3");
  EXPECT_DEATH(SHOAL_CHECK_NE(4, 4), "4 != 4: 4 against 4");
  EXPECT_DEATH(SHOAL_CHECK_LT(5, 5), "5 < 5: 5 against 5");
  EXPECT_DEATH(SHOAL_CHECK_LE(6, 5), "6 <= 5: 6 against 5");
  EXPECT_DEATH(SHOAL_CHECK_GE(5, 6), "5 >= 6: 5 against 6");
}

TEST(CheckDeathTest, RunsHooksInReverseOrderAfterTheMessage) {
  const CrashHook first([] { std::fputs("first hook\n", stderr); });
  const CrashHook second([] { std::fputs("second hook\n", stderr); });
  EXPECT_DEATH(SHOAL_CHECK(false, "boom"), "boom\nsecond hook\nfirst hook\n");
}

TEST(CheckDeathTest, AHookThatIsGoneDoesNotRun) {
  const CrashHook kept([] { std::fputs("kept hook\n", stderr); });
  std::optional<CrashHook> gone([] { std::fputs("removed hook\n", stderr); });
  gone.reset();
  EXPECT_DEATH(SHOAL_CHECK(false, "boom"), "boom\nkept hook\n$");
}

TEST(CheckDeathTest, AHookThatFailsACheckRunsOnce) {
  const CrashHook hook([] {
    std::fputs("hook ran\n", stderr);
    SHOAL_CHECK(false, "inside the hook");
  });
  EXPECT_DEATH(SHOAL_CHECK(false, "outside"),
               "outside\nhook ran\n.*check failed: false: inside the hook\n$");
}

}  // namespace
}  // namespace shoal
