#include "runtime/frames.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

namespace shoal::detail {
namespace {

#if !defined(__SANITIZE_ADDRESS__)
TEST(Frames, WhatOneHasLeftIsTheNextOnesOfItsSize) {
  void* const first = take_frame(300);
  void* const other = take_frame(300);
  give_back_frame(first, 300);
  void* const larger = take_frame(600);
  EXPECT_NE(larger, first);
  EXPECT_EQ(take_frame(310), first);
  give_back_frame(first, 310);
  give_back_frame(other, 300);
  give_back_frame(larger, 600);
}
#endif

TEST(Frames, OfAnySizeAndFreedByAnyThread) {
  std::vector<std::pair<void*, std::size_t>> frames;
  for (const std::size_t size : {1U, 63U, 64U, 65U, 4096U, 4097U, 100'000U})
    frames.emplace_back(take_frame(size), size);
  std::thread([&] {
    for (const auto& [frame, size] : frames) give_back_frame(frame, size);
  }).join();
}

}  // namespace
}  // namespace shoal::detail
