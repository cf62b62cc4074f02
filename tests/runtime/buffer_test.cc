#include "runtime/buffer.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace shoal {
namespace {

TEST(Buffer, CoversTheBytesOfItsObjects) {
  std::vector<float> items{1, 2, 3};
  const MutBuf mutable_items = mut_buf(std::span(items));
  EXPECT_EQ(mutable_items.size, Bytes(12));
  EXPECT_EQ(mutable_items.bytes().size(), 12U);
  const ConstBuf constant = mutable_items;
  EXPECT_EQ(static_cast<const void*>(constant.data), static_cast<const void*>(items.data()));
  int one = 5;
  EXPECT_EQ(const_buf(one).size, Bytes(sizeof(int)));
  EXPECT_EQ(mut_buf(one).bytes().size(), sizeof(int));
}

TEST(Buffer, APhantomHasASizeAndNoBytes) {
  const ConstBuf phantom{nullptr, Bytes(100)};
  EXPECT_TRUE(phantom.phantom());
  EXPECT_TRUE(phantom.bytes().empty());
  const ConstBuf empty;
  EXPECT_FALSE(empty.phantom()) << "nothing is nothing, not a phantom";
}

TEST(Buffer, CopyMovesBytesAndLeavesPhantomsAlone) {
  const std::array<int, 2> from{1, 2};
  std::array<int, 3> to{7, 8, 9};
  copy(const_buf(from), mut_buf(to));
  EXPECT_EQ(to, (std::array<int, 3>{1, 2, 9}));
  copy(ConstBuf{nullptr, Bytes(8)}, mut_buf(to));
  copy(const_buf(from), MutBuf{nullptr, Bytes(8)});
  copy(ConstBuf{}, MutBuf{});
  EXPECT_EQ(to, (std::array<int, 3>{1, 2, 9}));
}

TEST(Buffer, OverlapIsSharedBytesNotSharedEdges) {
  std::array<std::byte, 16> bytes{};
  const auto part = [&](std::size_t at, std::size_t size) {
    return ConstBuf{bytes.data() + at, Bytes(size)};
  };
  EXPECT_TRUE(overlap(part(0, 8), part(7, 1)));
  EXPECT_TRUE(overlap(part(7, 1), part(0, 8)));
  EXPECT_TRUE(overlap(part(4, 2), part(0, 16)));
  EXPECT_FALSE(overlap(part(0, 8), part(8, 8)));
  EXPECT_FALSE(overlap(part(8, 8), part(0, 8)));
  EXPECT_FALSE(overlap(ConstBuf{nullptr, Bytes(8)}, part(0, 16)));
}

}  // namespace
}  // namespace shoal
