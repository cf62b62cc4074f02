#include "ps/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "base/random.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string filter_refused(const char* text) {
  try {
    parse_filter(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(FilterText, IsReadAsItIsWritten) {
  for (const char* const text : {"none", "significant:0", "significant:0.01", "magnitude:1000000",
                                 "fifo:20000:4096", "magnitude:100"})
    EXPECT_EQ(to_string(parse_filter(text)), text);
  const auto burst = [](const char* text) { return budget_of(parse_filter(text))->left(Time{}); };
  EXPECT_EQ(burst("magnitude:1e6"), Bytes(100'000)) << "a tenth of a second's";
  EXPECT_EQ(burst("magnitude:1"), Bytes(64)) << "never so little that nothing fits";
  EXPECT_FALSE(budget_of(parse_filter("significant:1")));
}

TEST(FilterText, WhatIsNoFilterIsRefusedWithWhatIsOne) {
  EXPECT_THAT(filter_refused("magnitud:5"),
              AllOf(HasSubstr("magnitud:5"), HasSubstr("'magnitude'")));
  EXPECT_THAT(filter_refused("none:1"), HasSubstr("none takes no '1'"));
  EXPECT_THAT(filter_refused("significant"), HasSubstr("expected significant:V"));
  EXPECT_THAT(filter_refused("significant:0.1:2"), HasSubstr("'2' is one setting too many"));
  for (const char* const text :
       {"significant", "significant:-0.1", "significant:x", "significant:nan", "significant:inf"})
    EXPECT_THAT(filter_refused(text),
                AllOf(HasSubstr(text), HasSubstr("fraction of the parameter's value")))
        << text;
  EXPECT_THAT(filter_refused("magnitude"), HasSubstr("expected magnitude:RATE[:BURST]"));
  EXPECT_THAT(filter_refused("fifo:1e6:100:1"), HasSubstr("'1' is one setting too many"));
  for (const char* const text : {"magnitude:0", "magnitude:-3", "fifo:"})
    EXPECT_THAT(filter_refused(text), AllOf(HasSubstr(text), HasSubstr("bytes a second"))) << text;
  for (const char* const text : {"fifo:1e6:63", "fifo:1e6:"})
    EXPECT_THAT(filter_refused(text), AllOf(HasSubstr(text), HasSubstr("a number from 64 on")))
        << text;
}

TEST(Budget, InAnyWindowNoMoreIsSpentThanRateTimesWindowAndBurst) {
  Budget budget = budget_of(parse_filter("magnitude:1e6:5e3")).value();
  Random random(Seed(1), Purpose::Test);
  struct Spent {
    double at, bytes;
  };
  std::vector<Spent> spent;
  Time now{};
  for (int i = 0; i < 400; ++i) {
    now += random.duration(Duration(1), Duration(8'000'000));
    const std::uint64_t left = budget.left(now).value();
    ASSERT_LE(left, 5000U);
    const std::uint64_t bytes = random.chance(0.5) ? left : random.below(left + 1);
    budget.spend(now, Bytes(bytes));
    spent.push_back({seconds(now), static_cast<double>(bytes)});
  }
  double all = 0;
  for (std::size_t i = 0; i < spent.size(); ++i) {
    double sum = 0;
    for (std::size_t j = i; j < spent.size(); ++j) {
      sum += spent[j].bytes;
      ASSERT_LE(sum, 1e6 * (spent[j].at - spent[i].at) + 5e3 + 1e-3) << i << " to " << j;
    }
    all += spent[i].bytes;
  }
  EXPECT_GT(all, 0.4 * 1e6 * spent.back().at) << "it is no brake where nothing was spent";
}

TEST(Budget, SaysWhenThereWillBeEnough) {
  Budget budget = budget_of(parse_filter("fifo:1000:100")).value();
  const Time now{};
  budget.spend(now, Bytes(100));
  EXPECT_EQ(budget.left(now), Bytes(0));
  const Duration wait = budget.until(now, Bytes(50));
  EXPECT_GE(budget.left(now + wait), Bytes(50));
  EXPECT_LE(seconds(wait), 0.0511);
  EXPECT_LE(seconds(budget.until(now + wait, Bytes(1'000'000))), 0.051) << "when it is full";
}

}  // namespace
}  // namespace shoal
