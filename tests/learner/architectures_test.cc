#include "learner/architectures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace shoal {
namespace {

struct Totals {
  std::uint64_t parameters = 0;
  double flops = 0;
};

Totals totals_of(std::string_view name) {
  Totals totals;
  for (const LayerSize& layer : architecture(name)) {
    totals.parameters += layer.parameters.value();
    totals.flops += layer.flops;
  }
  return totals;
}

// The counts of other implementations of the same networks.
TEST(Architectures, HaveAsManyParametersAsTheirNetworks) {
  EXPECT_EQ(totals_of("alexnet").parameters, 60'965'224U);
  EXPECT_EQ(totals_of("vgg-a").parameters, 132'863'336U);
  EXPECT_EQ(totals_of("googlenet").parameters, 6'998'552U);
  EXPECT_EQ(totals_of("resnet-50").parameters, 25'557'032U);
  EXPECT_EQ(totals_of("resnet-152").parameters, 60'192'808U);
  EXPECT_EQ(totals_of("densenet-121").parameters, 7'978'856U);
  EXPECT_EQ(totals_of("gpt2-small").parameters, 124'439'808U);
}

// Multiplications and additions, in 10^9, from the papers or other known counts.
TEST(Architectures, WorkAsMuchAsTheirNetworks) {
  const auto gflops = [](const char* name) { return totals_of(name).flops * 1e-9; };
  EXPECT_NEAR(gflops("alexnet"), 2 * 0.724, 0.01);
  EXPECT_NEAR(gflops("vgg-a"), 2 * 7.61, 0.02);
  EXPECT_NEAR(gflops("googlenet"), 2 * 1.58, 0.02);
  EXPECT_NEAR(gflops("resnet-50"), 2 * 4.09, 0.02);
  EXPECT_NEAR(gflops("resnet-152"), 2 * 11.5, 0.1);
  EXPECT_NEAR(gflops("densenet-121"), 2 * 2.83, 0.05);
  // Two for each weight applied to a token, and the attention.
  EXPECT_NEAR(gflops("gpt2-small"), 2 * 0.124 * 1024 + 12 * 4 * 1.024 * 1.024 * 0.768, 1);
}

TEST(Architectures, AreNamed) {
  EXPECT_EQ(architecture_names().size(), 7U);
  for (const std::string& name : architecture_names())
    for (const LayerSize& layer : architecture(name)) EXPECT_GT(layer.parameters.value(), 0U);
  try {
    architecture("resnet50");
    FAIL() << "there is none";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'resnet-50'"));
  }
}

}  // namespace
}  // namespace shoal
