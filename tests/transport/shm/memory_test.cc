// Sealed memory, the registry of regions, and staging memory.
#include "transport/shm/memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "transport/shm/region.h"
#include "transport/shm/station.h"

namespace shoal::shm {
namespace {

using ::testing::HasSubstr;

TEST(ShmMemory, APeerCanReadAndNothingElse) {
  const OwnMemory own("test", Bytes(10'000));
  own.data()[77] = std::byte{5};
  const UniqueFd passed(dup(own.descriptor()));
  const PeerMemory peer(passed, "test");
  EXPECT_EQ(peer.size(), Bytes(10'000));
  EXPECT_EQ(peer.data()[77], std::byte{5});
  own.data()[77] = std::byte{6};  // The owner still writes.
  EXPECT_EQ(peer.data()[77], std::byte{6});

  const int fd = passed.get();
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(mprotect(const_cast<std::byte*>(peer.data()), 4096, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(pwrite(fd, "x", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(ftruncate(fd, 100), 0);
  EXPECT_NE(ftruncate(fd, 100'000), 0);
  EXPECT_NE(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  EXPECT_NE(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
  // A second mapping of the same memory does not bypass the seals.
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  const UniqueFd again(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(again);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED);
}

// Its small pages become large ones meanwhile; it is freed at any moment of that.
TEST(ShmMemory, ContentsOfALargeOneStayWhileItsPagesAreGathered) {
  constexpr std::size_t kWords = 3 * (std::size_t{1} << 20U) / 8 * 3 + 5;
  for (std::uint64_t round = 0; round < 4; ++round) {
    const OwnMemory own("test", Bytes(kWords * sizeof(std::uint64_t)));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(own.data()) % (2U << 20U), 0U);
    const UniqueFd passed(dup(own.descriptor()));
    const PeerMemory peer(passed, "test");
    auto* const words = reinterpret_cast<std::uint64_t*>(own.data());
    const auto* const there = reinterpret_cast<const std::uint64_t*>(peer.data());
    for (std::uint64_t turn = 0; turn < round; ++turn) {
      for (std::size_t i = 0; i < kWords; ++i) words[i] = i ^ turn;
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < kWords; ++i) wrong += there[i] == (i ^ turn) ? 0 : 1;
      EXPECT_EQ(wrong, 0U) << turn;
    }
  }
}

TEST(ShmMemory, WhatIsNotSealedIsNotMapped) {
  const auto refused = [](const UniqueFd& fd) {
    try {
      const PeerMemory peer(fd, "region 7");
      ADD_FAILURE() << "it was mapped";
    } catch (const Corrupt& e) {
      EXPECT_THAT(e.what(), HasSubstr("corrupt region 7"));
    }
  };
  UniqueFd open_memory(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(open_memory.get(), 4096), 0);
  refused(open_memory);
  ASSERT_EQ(fcntl(open_memory.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_FUTURE_WRITE), 0);
  refused(open_memory);
  refused(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)));
  UniqueFd empty(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(fcntl(empty.get(), F_ADD_SEALS,
                  F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL),
            0);
  refused(empty);
  refused(UniqueFd());
}

TEST(ShmMemory, ItStaysReadableWhenItsOwnerIsGone) {
  auto own = std::make_unique<OwnMemory>("test", Bytes(8192));
  own->data()[8191] = std::byte{3};
  const PeerMemory peer(UniqueFd(dup(own->descriptor())), "test");
  own.reset();
  EXPECT_EQ(peer.data()[8191], std::byte{3});
}

TEST(ShmMemory, TooMuchIsAClearError) {
  try {
    const OwnMemory own("test", Bytes(std::uint64_t{1} << 62U));
    FAIL() << "there is so much memory?";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("4611686018427387904 bytes of shared memory"));
  }
}

TEST(ShmRegions, APayloadIsFoundInItsRegionAndOnlyThere) {
  Regions regions;
  RegionPtr one = regions.make(Bytes(5000));
  const RegionPtr hidden = regions.make(Bytes(5000));
  regions.publish(one);
  const std::byte* at = one->memory.data();
  EXPECT_EQ(one->memory.size(), Bytes(8192)) << "whole pages";
  EXPECT_EQ(regions.find({at, Bytes(8192)}), one);
  EXPECT_EQ(regions.find({at + 8191, Bytes(1)}), one);
  EXPECT_EQ(regions.find({at + 1, Bytes(8192)}), nullptr) << "it ends outside";
  EXPECT_EQ(regions.find({at - 1, Bytes(1)}), nullptr);
  EXPECT_EQ(regions.find({hidden->memory.data(), Bytes(1)}), nullptr);
  EXPECT_FALSE(regions.any_gone());

  // Released by another thread, which may be the last holder.
  const RegionId id = one->id;
  std::thread([last = std::move(one)]() mutable { last.reset(); }).join();
  EXPECT_EQ(regions.find({at, Bytes(1)}), nullptr);
  EXPECT_TRUE(regions.any_gone());
  EXPECT_EQ(regions.take_gone(), std::vector{id});
  EXPECT_FALSE(regions.any_gone());
}

TEST(ShmStagePool, PartsNeverOverlapAndAllComeBack) {
  Regions regions;
  StagePool pool(regions);
  std::vector<std::pair<Lease, std::byte>> leases;
  std::uint64_t x = 7;
  for (int i = 0; i < 4000; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    if (x >> 63U == 0 || leases.empty()) {
      Lease lease = pool.take(1 + (x >> 20U) % 300'000);
      const auto mark = static_cast<std::byte>(i);
      std::memset(lease.data(), static_cast<int>(mark), lease.size);
      leases.emplace_back(std::move(lease), mark);
    } else {
      std::swap(leases[(x >> 20U) % leases.size()], leases.back());
      auto& [lease, mark] = leases.back();
      for (std::uint64_t at = 0; at < lease.size; at += 4095) ASSERT_EQ(lease.data()[at], mark);
      pool.give(std::move(lease));
      leases.pop_back();
    }
  }
  for (auto& [lease, mark] : leases) pool.give(std::move(lease));
  leases.clear();
  // Idle regions are reused, and kept only up to a limit.
  const RegionId newest = pool.take(300U << 20U).region->id;
  Lease again = pool.take(1000);
  EXPECT_LT(again.region->id, newest);
  regions.take_gone();
  Lease large = pool.take(200U << 20U);
  const RegionId id = large.region->id;
  EXPECT_EQ(large.size, 200U << 20U);
  pool.give(std::exchange(large, {}));
  EXPECT_EQ(regions.take_gone(), std::vector{id});
}

}  // namespace
}  // namespace shoal::shm
