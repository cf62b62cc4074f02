// Memory that one process writes and its peers only read: a sealed memfd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "base/types.h"

namespace shoal::shm {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int descriptor) : descriptor_(descriptor) {}
  UniqueFd(UniqueFd&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      descriptor_ = std::exchange(other.descriptor_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }
  void reset();
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

// Thread safety: constant once made. Invariants: only this process can write to it, and only by
// this mapping; its size cannot change.
class OwnMemory {
 public:
  OwnMemory(const char* name, Bytes size);  // zeroed; throws Error
  ~OwnMemory();
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;

  std::byte* data() const { return data_; }
  Bytes size() const { return size_; }
  int descriptor() const { return descriptor_.get(); }

 private:
  UniqueFd descriptor_;
  std::byte* data_ = nullptr;
  Bytes size_;
  std::jthread gathering_;  // collapses small pages into large ones
};

// A peer's memory, mapped for reading. Its contents may change at any time and may be anything. The
// size cannot change, so reading inside it is always safe. It stays when the peer has ended.
class PeerMemory {
 public:
  // Throws Corrupt, which names `what`, unless it is sealed like OwnMemory's.
  PeerMemory(const UniqueFd& descriptor, const std::string& what);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  const std::byte* data() const { return data_; }
  Bytes size() const { return size_; }
  bool holds(std::uint64_t at, std::uint64_t size) const {
    return size <= size_.value() && at <= size_.value() - size;
  }

 private:
  const std::byte* data_ = nullptr;
  Bytes size_;
};

}  // namespace shoal::shm
