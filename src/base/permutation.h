// A random permutation of 0..n-1 as a function: at(i) is computed and nothing is stored, so an
// epoch over a billion samples needs no memory on any of a thousand workers.
//
// A Feistel network over the smallest even number of bits that holds n, iterated until the result
// is below n (Black & Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). Six rounds of
// a 64-bit mixer: well shuffled, not secret.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/random.h"

namespace shoal {

class Permutation {
 public:
  // REQUIRES: n > 0. Keys come from `random`.
  Permutation(std::uint64_t n, Random random) : n_(n) {
    SHOAL_CHECK_GT(n, 0U);
    half_ = (static_cast<unsigned>(std::bit_width(n - 1)) + 1) / 2;
    half_ = half_ == 0 ? 1 : half_;
    for (std::uint64_t& key : keys_) key = random.bits();
  }

  std::uint64_t size() const { return n_; }

  // REQUIRES: i < size().
  std::uint64_t at(std::uint64_t i) const {
    SHOAL_CHECK_LT(i, n_);
    do i = scramble(i);
    while (i >= n_);
    return i;
  }

 private:
  std::uint64_t scramble(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = x >> half_;
    std::uint64_t right = x & mask;
    for (const std::uint64_t key : keys_) {
      std::uint64_t f = (right + 1) * 0x9E3779B97F4A7C15ULL ^ key;
      f = (f ^ f >> 32U) * 0xD6E8FEB86659FD93ULL;
      f ^= f >> 32U;
      const std::uint64_t next = left ^ (f & mask);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }

  std::uint64_t n_;
  unsigned half_;
  std::array<std::uint64_t, 6> keys_{};
};

}  // namespace shoal
