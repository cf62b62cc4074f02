#include "base/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <span>

namespace shoal {
namespace {

constexpr std::size_t kPage = 4096;

// Memory that other processes can map; each page begins with its number.
class SharedPages {
 public:
  explicit SharedPages(std::size_t pages) : bytes_(pages * kPage) {
    const int descriptor = memfd_create("shoal-test", 0);
    if (ftruncate(descriptor, static_cast<off_t>(bytes_)) == 0)
      data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    for (std::size_t i = 0; i < pages; ++i) page(i) = static_cast<std::byte>(i + 1);
  }
  ~SharedPages() { munmap(data_, bytes_); }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  std::byte* data() { return static_cast<std::byte*>(data_); }
  std::byte& page(std::size_t i) { return data()[i * kPage]; }

 private:
  std::size_t bytes_;
  void* data_ = MAP_FAILED;
};

TEST(Memory, SharedPagesAreSeenInASecondPlaceAsTheyAreNow) {
  SharedPages shared(8);
  const auto room = allocate_pages(16 * kPage);
  const std::span all(room.get(), 16 * kPage);
  all[4 * kPage - 1] = all[9 * kPage] = std::byte{99};
  ASSERT_EQ(show_pages(&all[4 * kPage], &shared.page(2), 5 * kPage + 100), 5 * kPage);
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(all[(4 + i) * kPage], static_cast<std::byte>(i + 3));
  EXPECT_EQ(all[4 * kPage - 1], std::byte{99});
  EXPECT_EQ(all[9 * kPage], std::byte{99});
  shared.page(3) = std::byte{77};
  EXPECT_EQ(all[5 * kPage], std::byte{77});
}

TEST(Memory, PagesInTheirPlaceAreZeroAndSharedWithNobody) {
  SharedPages shared(2);
  const auto room = allocate_pages(2 * kPage);
  ASSERT_EQ(show_pages(room.get(), shared.data(), 2 * kPage), 2 * kPage);
  clear_pages(room.get(), 2 * kPage);
  const std::span all(room.get(), 2 * kPage);
  EXPECT_TRUE(std::ranges::all_of(all, [](std::byte b) { return b == std::byte{0}; }));
  all[0] = std::byte{5};
  EXPECT_EQ(shared.page(0), std::byte{1});
}

TEST(Memory, WhatIsNotSharedOrBeginsWithinAPageIsNotShownAndNothingChanges) {
  SharedPages shared(3);
  const auto room = allocate_pages(2 * kPage);
  room.get()[0] = std::byte{42};
  const auto own = allocate_pages(2 * kPage);
  EXPECT_EQ(show_pages(room.get(), own.get(), 2 * kPage), 0U);
  EXPECT_EQ(show_pages(room.get(), shared.data() + 64, 2 * kPage), 0U);
  EXPECT_EQ(show_pages(room.get() + 64, shared.data(), kPage), 0U);
  EXPECT_EQ(show_pages(room.get(), shared.data(), kPage - 1), 0U);
  EXPECT_EQ(room.get()[0], std::byte{42});
}

}  // namespace
}  // namespace shoal
