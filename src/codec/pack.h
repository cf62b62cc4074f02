// Private to src/codec: small codes, of 1, 2, 4, 8 or 16 bits, in words.
//
// Elements go by blocks of kBlock. A block of m becomes W = ceil(m * bits / 32) words of 32 bits;
// code i goes to word i % W, at bit i / W * bits. So neighbours go to different words at the same
// bits, and both directions are plain loops over vectors of any width, without a single shuffle.
#pragma once

#include <algorithm>
#include <cstring>

#include "codec/bytes.h"

namespace shoal {

inline constexpr std::size_t kBlock = 512;

constexpr std::size_t blocks_of(std::size_t n) { return (n + kBlock - 1) / kBlock; }
// REQUIRES: m <= kBlock.
constexpr std::size_t words_of(std::size_t m, unsigned bits) { return (m * bits + 31) / 32; }
// The bytes of all blocks of n elements, with `head` bytes in front of each.
constexpr std::size_t packed_size(std::size_t n, unsigned bits, std::size_t head) {
  const std::size_t full = n / kBlock * words_of(kBlock, bits) + words_of(n % kBlock, bits);
  return full * 4 + blocks_of(n) * head;
}

// Eight elements side by side, for loops that must not go through memory: the compiler uses any
// available vectors, with the same bits.
inline constexpr std::size_t kEight = 8;
using Bits = std::uint32_t __attribute__((vector_size(4 * kEight)));
using Ints = std::int32_t __attribute__((vector_size(4 * kEight)));
using Floats = float __attribute__((vector_size(4 * kEight)));

template <unsigned kBits>
SHOAL_INLINE inline void pack(const std::uint32_t* codes, std::size_t m, std::byte* out) {
  constexpr std::size_t kWords = words_of(kBlock, kBits);
  std::uint32_t words[kWords] = {};
  if (m == kBlock) {
    for (unsigned f = 0; f < 32 / kBits; ++f)
      for (std::size_t w = 0; w < kWords; ++w) words[w] |= codes[f * kWords + w] << (f * kBits);
    std::memcpy(out, words, sizeof words);
    return;
  }
  const std::size_t count = words_of(m, kBits);
  for (std::size_t i = 0; i < m; ++i)
    words[i % count] |= codes[i] << static_cast<unsigned>(i / count * kBits);
  std::memcpy(out, words, count * 4);
}

// Returns false where bits are set that belong to no element.
template <unsigned kBits>
SHOAL_INLINE inline bool unpack(const std::byte* in, std::size_t m, std::uint32_t* codes) {
  constexpr std::size_t kWords = words_of(kBlock, kBits);
  constexpr std::uint32_t kMask = (1U << kBits) - 1;
  std::uint32_t words[kWords];
  if (m == kBlock) {
    std::memcpy(words, in, sizeof words);
    for (unsigned f = 0; f < 32 / kBits; ++f)
      for (std::size_t w = 0; w < kWords; ++w)
        codes[f * kWords + w] = (words[w] >> (f * kBits)) & kMask;
    return true;
  }
  const std::size_t count = words_of(m, kBits);
  std::memcpy(words, in, count * 4);
  std::uint32_t behind = 0;
  for (std::size_t i = 0; i < count * (32 / kBits); ++i) {
    const std::uint32_t code =
        (words[i % count] >> static_cast<unsigned>(i / count * kBits)) & kMask;
    if (i < m) codes[i] = code;
    if (i >= m) behind |= code;
  }
  return behind == 0;
}

// The value of a code: 0 for 0, size for 1, -size for 2 (3 is not a code, and gives 0).
SHOAL_INLINE inline float ternary(std::uint32_t code, float size) {
  const auto one = static_cast<std::int32_t>(code & 1U) - static_cast<std::int32_t>(code >> 1U);
  return static_cast<float>(one) * size;
}

}  // namespace shoal
