#include "learner/layout.h"

#include <gtest/gtest.h>

#include "learner/batch.h"
#include "support/tensor_entry.h"

namespace shoal {
namespace {

Layout small_network() {
  return Layout({tensor("fc.weight", Section::Parameter, Dtype::F32, {3, 5}),
                 tensor("fc.bias", Section::Parameter, Dtype::F32, {3}),
                 tensor("norm.mean", Section::Buffer, Dtype::F32, {3}),
                 tensor("norm.count", Section::Side, Dtype::I64, {}),
                 tensor("flag", Section::Side, Dtype::Bool, {3}),
                 tensor("norm2.count", Section::Side, Dtype::I64, {})});
}

TEST(Layout, PlacesParametersThenBuffersThenTheSide) {
  const Layout layout = small_network();
  EXPECT_EQ(layout.parameters(), Elements(18));
  EXPECT_EQ(layout.averaged(), Elements(21));
  EXPECT_EQ(layout.find("fc.bias")->at, Elements(15));
  EXPECT_EQ(layout.find("norm.mean")->at, Elements(18));
  EXPECT_EQ(layout.find("norm.count")->at, Elements(32)) << "raw bits begin where any type may";
  EXPECT_EQ(layout.find("norm2.count")->at, Elements(36)) << "after three bytes, aligned again";
  EXPECT_EQ(layout.all(), Elements(38));
  EXPECT_EQ(layout.parameter_tensors().size(), 2U);
  EXPECT_EQ(layout.find("nothing"), nullptr);
}

TEST(Layout, DiffersByNameShapeAndPlace) {
  const std::uint64_t hash = small_network().hash();
  EXPECT_EQ(hash, small_network().hash());
  EXPECT_NE(hash, Layout::plain(Elements(38)).hash());
  const Layout renamed({tensor("a", Section::Parameter, Dtype::F32, {4})});
  const Layout reshaped({tensor("a", Section::Parameter, Dtype::F32, {2, 2})});
  EXPECT_NE(renamed.hash(), reshaped.hash());
}

TEST(Layout, KnowsWhatIsRowMajor) {
  TensorEntry t = tensor("conv.weight", Section::Parameter, Dtype::F32, {32, 1, 5, 5});
  EXPECT_TRUE(is_row_major(t));
  t.strides = {25, 1, 5, 1};  // channels last, but there is only one channel
  EXPECT_TRUE(is_row_major(t));
  t.shape = {32, 3, 5, 5};
  t.strides = {75, 1, 15, 3};
  EXPECT_FALSE(is_row_major(t));
}

TEST(SampleShape, SaysWhatItIs) {
  EXPECT_EQ(describe(SampleShape{InputKind::Dense, {1, 28, 28}, TargetKind::Classes, 10}),
            "1x28x28 numbers, 10 classes");
  EXPECT_EQ(describe(SampleShape{InputKind::Tokens, {64}, TargetKind::Next, 70}),
            "64 symbols of an alphabet of 70");
}

}  // namespace
}  // namespace shoal
