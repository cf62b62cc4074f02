#include "app/build_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(BuildInfo, is_complete_and_on_one_line) {
  const auto build = build_info();
  EXPECT_THAT(build.version, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(build.commit,
              testing::AnyOf("unknown", testing::MatchesRegex("[0-9a-f]{12,}(-dirty)?")));
  EXPECT_THAT(build.compiler, testing::MatchesRegex("(GNU|Clang) [0-9.]+"));
  EXPECT_THAT(describe(build), testing::AllOf(testing::HasSubstr(build.commit),
                                              testing::Not(testing::HasSubstr("\n"))));
}

}  // namespace
}  // namespace shoal
