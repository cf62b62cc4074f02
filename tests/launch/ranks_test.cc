#include "launch/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace shoal {
namespace {

using testing::HasSubstr;

TEST(RankCount, IsANumberOrALeastAndAMost) {
  EXPECT_EQ(parse_rank_count("-n", "4"), (RankCount{1, 4}));
  EXPECT_EQ(parse_rank_count("-n", "2:8"), (RankCount{2, 8}));
  EXPECT_EQ(parse_rank_count("-n", "3:3"), (RankCount{3, 3}));
  for (const char* text : {"1", "4", "2:8", "3:3"})
    EXPECT_EQ(to_string(parse_rank_count("-n", text)), text);
}

TEST(RankCount, RefusesWhatIsNone) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      parse_rank_count("--workers", text);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "it was taken";
  };
  for (const char* text :
       {"", "0", "-1", "x", "4x", "1.5", "0:3", "2:", ":2", "1:2:3", "100001", "99999999999"})
    EXPECT_THAT(refusal(text), HasSubstr("take an integer from 1 to 100000, or MIN:MAX"))
        << text;
  EXPECT_THAT(refusal("8:2"), HasSubstr("--workers 8:2: the minimum 8 is above the maximum 2"));
}

}  // namespace
}  // namespace shoal
