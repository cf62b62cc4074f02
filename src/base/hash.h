// A streaming 64-bit hash for traces and replicas: quick, deterministic, not cryptographic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace shoal {

class Hash {
 public:
  Hash() = default;
  explicit Hash(std::uint64_t number) : state_(number) {}  // one of several independent hashes
  void add(std::uint64_t word) {
    // One round of a multiply-xorshift mixer (the finalizer of splitmix64), chained.
    std::uint64_t x = state_ ^ (word + 0x9E3779B97F4A7C15ULL + (state_ << 6U) + (state_ >> 2U));
    x ^= x >> 30U;
    x *= 0xBF58476D1CE4E5B9ULL;
    x ^= x >> 27U;
    x *= 0x94D049BB133111EBULL;
    state_ = x ^ (x >> 31U);
  }
  void add(std::span<const std::byte> bytes) {
    std::size_t at = 0;
    for (; at + 8 <= bytes.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, 8);
      add(word);
    }
    std::uint64_t tail = bytes.size();
    for (; at < bytes.size(); ++at) tail = tail << 8U | static_cast<std::uint64_t>(bytes[at]);
    add(tail);
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x5348'4F41'4C00'0001ULL;
};

inline std::uint64_t hash_of(std::span<const std::byte> bytes) {
  Hash hash;
  hash.add(bytes);
  return hash.value();
}

template <class T>
std::uint64_t hash_of(std::span<const T> items) {
  return hash_of(std::as_bytes(items));
}

}  // namespace shoal
