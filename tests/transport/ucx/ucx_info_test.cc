// For the real file and the stub: an available library has a version and tcp.
#include "transport/ucx/ucx_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(UcxInfo, names_a_version_and_tcp_exactly_when_built_in) {
  const auto info = ucx_info();
  EXPECT_EQ(info.built_in, !info.version.empty());
  EXPECT_EQ(info.built_in, testing::Value(info.transports, testing::Contains("tcp")));
  EXPECT_EQ(info.built_in, !info.transports.empty());
}

}  // namespace
}  // namespace shoal
