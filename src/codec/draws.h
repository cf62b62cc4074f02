// Private to src/codec: a random number for each element, cheap and in any order.
//
// Philox2x32-10 (Salmon et al., SC 2011, as in base/random.h), which compiles to loops over
// vectors: a block of 64 bits serves two elements. Its key and half of its counter come from one
// draw of Philox4x64 by the DrawKey, the other half is the element's position: streams of two keys
// are the same with a probability of 2^-64.
#pragma once

#include "base/random.h"
#include "base/wide.h"
#include "codec/codec.h"

namespace shoal {

class Draws {
 public:
  // The random numbers of elements come in groups of this size.
  static constexpr std::size_t kGroup = 64;

  explicit Draws(const DrawKey& key) {
    Random random(key.seed, Purpose::Encode, key.a, key.b);
    const std::uint64_t both = random.bits();
    key_ = static_cast<std::uint32_t>(both);
    stream_ = static_cast<std::uint32_t>(both >> 32U);
  }

  // u[i] is uniform in [0, 1), a multiple of 2^-24, for the m elements from position `at` on.
  // Writes whole groups. REQUIRES: at is a multiple of kGroup; u has room for m, rounded up to
  // kGroup.
  SHOAL_INLINE void uniforms(std::size_t at, std::size_t m, float* u) const {
    constexpr std::size_t kHalf = kGroup / 2;
    for (std::size_t group = 0; group < m; group += kGroup) {
      std::uint32_t first[kHalf];
      std::uint32_t second[kHalf];
      const auto counter = static_cast<std::uint32_t>((at + group) / 2);
      for (std::uint32_t j = 0; j < kHalf; ++j) {
        first[j] = counter + j;
        second[j] = stream_;
      }
      std::uint32_t key = key_;
      for (unsigned round = 0; round < 10; ++round) {
        for (std::size_t j = 0; j < kHalf; ++j) {
          const std::uint64_t product = std::uint64_t{first[j]} * 0xd256'd193U;
          first[j] = static_cast<std::uint32_t>(product >> 32U) ^ key ^ second[j];
          second[j] = static_cast<std::uint32_t>(product);
        }
        key += 0x9e37'79b9U;
      }
      // Below 2^24 an int is a float without rounding; as ints they convert in one instruction.
      for (std::size_t j = 0; j < kHalf; ++j) {
        u[group + j] = static_cast<float>(static_cast<std::int32_t>(first[j] >> 8U)) * 0x1p-24F;
        u[group + kHalf + j] =
            static_cast<float>(static_cast<std::int32_t>(second[j] >> 8U)) * 0x1p-24F;
      }
    }
  }

 private:
  std::uint32_t key_;
  std::uint32_t stream_;
};

// v rounded to one of its two neighbours, so that the mean over u is v, to 2^-24. REQUIRES: v is
// between -2^23 and 2^23.
SHOAL_INLINE inline std::int32_t round_by(float v, float u) {
  const auto cut = static_cast<std::int32_t>(v);
  const float down = static_cast<float>(cut);
  const std::int32_t floor = cut - (v < down ? 1 : 0);
  const float part = v - static_cast<float>(floor);
  return floor + (u < part ? 1 : 0);
}

}  // namespace shoal
