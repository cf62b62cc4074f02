#include "base/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/error.h"

namespace shoal {
namespace {

using testing::ElementsAre;

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST(Parse, TheWholeTextIsTheNumber) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parse_number<double>("2.5e-3"), 2.5e-3);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "one", "1,000"}) {
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_number<int>("1.5"), std::nullopt);
}

TEST(Parse, AValueThatTheTypeCannotHoldIsRefused) {
  EXPECT_EQ(parse_number<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint32_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_number<double>("1e400"), std::nullopt);
}

TEST(Parse, BoundsOfTheRangeAreInside) {
  EXPECT_EQ(parse_number<int>("1", {1, 9}), 1);
  EXPECT_EQ(parse_number<int>("9", {1, 9}), 9);
  EXPECT_EQ(parse_number<int>("0", {1, 9}), std::nullopt);
  EXPECT_EQ(parse_number<int>("10", {1, 9}), std::nullopt);
  EXPECT_EQ(parse_number<double>("-0.1", {.least = 0}), std::nullopt);
}

TEST(Parse, InfinityAndNaNAreNeverInARange) {
  for (const char* text : {"inf", "-inf", "nan"})
    EXPECT_EQ(parse_number<double>(text), std::nullopt) << text;
}

TEST(Parse, TakingANumberLeavesTheRest) {
  std::string_view text = "12-3";
  EXPECT_EQ(take_number<std::int64_t>(text), 12);
  EXPECT_EQ(text, "-3");
  EXPECT_EQ(take_number<std::int64_t>(text), -3);
  EXPECT_EQ(text, "");
  EXPECT_EQ(take_number<std::int64_t>(text), std::nullopt);

  text = "ms";
  EXPECT_EQ(take_number<double>(text), std::nullopt);
  EXPECT_EQ(text, "ms");
  text = "nan";
  EXPECT_TRUE(std::isnan(take_number<double>(text).value()));
}

TEST(Parse, ASettingSaysWhatItExpected) {
  EXPECT_EQ(require_number<std::uint32_t>("--steps", "7", "a count"), 7U);
  EXPECT_EQ(refusal([] { require_number<double>("--lr", "fast", "a number"); }),
            "--lr fast: expected a number");
  EXPECT_EQ(refusal([] {
              require_number<int>("--threads", "0", "1 to 4", {1, 4});
            }),
            "--threads 0: expected 1 to 4");
}

TEST(Parse, AListHasANumberBetweenItsCommas) {
  EXPECT_THAT(require_numbers<int>("--threads", "4,1,2", "sizes"), ElementsAre(4, 1, 2));
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "1, 2", "1;2"})
    EXPECT_EQ(refusal([&] { require_numbers<int>("--threads", text, "sizes"); }),
              std::string("--threads ") + text + ": expected sizes");
}

}  // namespace
}  // namespace shoal
