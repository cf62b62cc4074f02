// The real plugin with the real libtorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learner/torch_loader/torch_plugin.h"

namespace shoal {
namespace {

TEST(TorchPluginLive, describes_the_libtorch_it_was_built_with) {
  const auto torch = TorchPlugin::load({SHOAL_PLUGINS}).describe();
  EXPECT_THAT(torch.version, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+.*"));
  EXPECT_GE(torch.threads, 1);
  EXPECT_THAT(torch.blas, testing::StartsWith("OpenBLAS"));
  EXPECT_THAT(torch.details, testing::HasSubstr("ATen"));
}

}  // namespace
}  // namespace shoal
