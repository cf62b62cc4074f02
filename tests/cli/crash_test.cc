#include "cli/crash.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "base/check.h"

namespace shoal {
namespace {

// A sanitizer's handler must stay, so only SIGABRT is tested, which no sanitizer handles.
TEST(CrashDeathTest, failed_check_exits_with_127_and_its_message) {
  const auto crash = [] {
    exit_on_crash();
    SHOAL_CHECK(1 > 2, "the sea is {}", "dry");
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(127), "the sea is dry(.|\n)*crashed by signal 06");
}

TEST(CrashDeathTest, handler_that_was_there_before_is_kept) {
  const auto crash = [] {
    std::signal(SIGABRT, [](int) { std::_Exit(42); });
    exit_on_crash();
    std::abort();
  };
  EXPECT_EXIT(crash(), testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace shoal
