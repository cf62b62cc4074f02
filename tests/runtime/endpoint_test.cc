#include "runtime/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace shoal {
namespace {

using ::testing::HasSubstr;

TEST(Match, TakesOnlyWhatAgreesInEverythingItNames) {
  const Tag tag{GroupId(1), Generation(2), 0x0507};
  const Match exact{NodeId(3), tag, kWholeId};
  EXPECT_TRUE(exact.accepts(NodeId(3), tag));
  EXPECT_FALSE(exact.accepts(NodeId(4), tag));
  EXPECT_FALSE(exact.accepts(NodeId(3), Tag{GroupId(9), Generation(2), 0x0507}));
  EXPECT_FALSE(exact.accepts(NodeId(3), Tag{GroupId(1), Generation(3), 0x0507}));
  EXPECT_FALSE(exact.accepts(NodeId(3), Tag{GroupId(1), Generation(2), 0x0508}));

  const Match any_of_the_low_byte{kAnyone, tag, 0xff};
  EXPECT_TRUE(any_of_the_low_byte.accepts(NodeId(9), Tag{GroupId(1), Generation(2), 0xAA07}));
  EXPECT_FALSE(any_of_the_low_byte.accepts(NodeId(9), Tag{GroupId(1), Generation(2), 0x0508}));
}

TEST(Received, OfAnotherSizeThanExpectedIsCorruptAndNamesTheSender) {
  Received received;
  received.from = NodeId(7);
  received.size = Bytes(12);
  EXPECT_NO_THROW(require_size(received, Bytes(12)));
  std::string complaint = "accepted";
  try {
    require_size(received, Bytes(16));
  } catch (const Corrupt& error) {
    complaint = error.what();
  }
  EXPECT_THAT(complaint, HasSubstr("node 7"));
  EXPECT_THAT(complaint, HasSubstr("12"));
  EXPECT_THAT(complaint, HasSubstr("16"));
}

}  // namespace
}  // namespace shoal
