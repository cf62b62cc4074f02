// Each case of a sweep is in exactly one of the M samples.
#include "support/sample.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace shoal {
namespace {

Sample share(std::uint64_t k, std::uint64_t m) { return Sample(fmt::format("{}/{}", k, m)); }

TEST(Sample, EveryCaseIsInExactlyOneOfThem) {
  for (const std::uint64_t m : {1U, 2U, 4U, 7U})
    for (const std::uint64_t cases : {0U, 1U, 3U, 17U, 300U}) {
      std::vector<int> taken(cases, 0);
      for (std::uint64_t k = 0; k < m; ++k) {
        Sample sample = share(k, m);
        for (int& n : taken) n += sample.takes_next() ? 1 : 0;
      }
      EXPECT_EQ(taken, std::vector<int>(cases, 1)) << m << " samples of " << cases;
    }
}

TEST(Sample, EveryBlockBeginsWhereTheOneBeforeEnds) {
  for (const std::uint64_t m : {1U, 2U, 4U, 7U})
    for (const std::uint64_t cases : {0U, 1U, 3U, 17U, 300U}) {
      std::uint64_t end = 0;
      for (std::uint64_t k = 0; k < m; ++k) {
        const Sample::Block block = share(k, m).block_of(cases);
        EXPECT_EQ(block.begin, end);
        end = block.end;
      }
      EXPECT_EQ(end, cases);
    }
}

TEST(Sample, WithoutAShareAllCasesRun) {
  Sample all("");
  EXPECT_TRUE(all.whole());
  EXPECT_EQ(all.block_of(300).size(), 300U);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(all.takes_next());
  EXPECT_FALSE(share(0, 4).whole());
}

TEST(Sample, RefusesWhatIsNoShare) {
  for (const char* text : {"1", "4/4", "-1/4", "1/0", "a/b", "1/", "/4"})
    EXPECT_THROW(Sample{text}, ConfigError) << text;
}

}  // namespace
}  // namespace shoal
