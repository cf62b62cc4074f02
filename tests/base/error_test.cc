#include "base/error.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace shoal {
namespace {

TEST(Error, PeerLostNamesThePeerAndTheReason) {
  const PeerLost error(NodeId(5), "connection reset");
  EXPECT_EQ(error.peer(), NodeId(5));
  EXPECT_STREQ(error.what(), "lost node 5: connection reset");
}

TEST(Error, CancelledSaysSo) { EXPECT_STREQ(Cancelled().what(), "cancelled"); }

TEST(Error, OneHandlerCatchesAllOfTheTreeAndNothingElse) {
  static_assert(std::is_base_of_v<Error, PeerLost>);
  static_assert(std::is_base_of_v<Error, Fenced>);
  static_assert(std::is_base_of_v<Error, Cancelled>);
  static_assert(std::is_base_of_v<Error, Corrupt>);
  static_assert(std::is_base_of_v<Error, ConfigError>);
  static_assert(std::is_base_of_v<Error, DataError>);
  static_assert(!std::is_base_of_v<PeerLost, Fenced>);
  EXPECT_THROW(throw Corrupt("bad magic"), Error);
  EXPECT_THROW(throw DataError("no such file"), std::runtime_error);
}

TEST(Error, KeepsTheMessageItWasGiven) {
  try {
    throw ConfigError("--workers 0: at least one is needed");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--workers 0: at least one is needed");
  }
}

}  // namespace
}  // namespace shoal
