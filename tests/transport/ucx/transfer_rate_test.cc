#include "transport/ucx/transfer_rate.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

using namespace std::chrono_literals;

Time at(Duration d) { return Time(d); }

TEST(TransferRate, TellsHowLongWhatIsUnderWayWillTakeAtTheRateSeen) {
  TransferRate pace;
  pace.began(Bytes(1000), at(0ms));
  pace.ended(Bytes(1000), at(10ms));
  pace.began(Bytes(4000), at(50ms));
  EXPECT_EQ(pace.ahead(), Duration(40ms));
}

TEST(TransferRate, TimeInWhichNothingIsUnderWayDoesNotCount) {
  TransferRate pace;
  for (int i = 0; i < 5; ++i) {
    pace.began(Bytes(1000), at(i * 100ms));
    pace.ended(Bytes(1000), at(i * 100ms + 10ms));
  }
  EXPECT_EQ(pace.ahead(), Duration(0ms));
  pace.began(Bytes(1000), at(1s));
  EXPECT_EQ(pace.ahead(), Duration(10ms));
}

TEST(TransferRate, WithoutARateSomethingIsAheadButNothingLong) {
  TransferRate pace;
  pace.began(Bytes(1U << 30U), at(0ms));
  EXPECT_GT(pace.ahead(), Duration(0));
  EXPECT_LT(pace.ahead(), Duration(1us));
}

TEST(TransferRate, AFasterLinkIsBelievedSoon) {
  TransferRate pace;
  Time now = at(0ms);
  const auto transfer = [&](Duration took) {
    pace.began(Bytes(1'000'000), now);
    now += took;
    pace.ended(Bytes(1'000'000), now);
  };
  for (int i = 0; i < 50; ++i) transfer(10ms);
  for (int i = 0; i < 400; ++i) transfer(1ms);
  pace.began(Bytes(1'000'000), now);
  EXPECT_LT(pace.ahead(), Duration(2ms));
}

}  // namespace
}  // namespace shoal
