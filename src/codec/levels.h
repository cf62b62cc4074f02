// Private to src/codec: blocks of codes of 1, 2, 4, 8 or 16 bits, chosen at run time.
#pragma once

#include "codec/pack.h"

namespace shoal {

// The fewest of these bits that hold numbers up to `most`.
constexpr unsigned bits_for(std::uint32_t most) {
  for (const unsigned bits : {1U, 2U, 4U, 8U})
    if (most < 1U << bits) return bits;
  return 16;
}

// Calls f.template operator()<kBits>().
template <class F>
SHOAL_INLINE inline auto with_bits(unsigned bits, const F& f) {
  switch (bits) {
    case 1: return f.template operator()<1>();
    case 2: return f.template operator()<2>();
    case 4: return f.template operator()<4>();
    case 8: return f.template operator()<8>();
    default: return f.template operator()<16>();
  }
}

SHOAL_INLINE inline void pack_codes(unsigned bits, const std::uint32_t* codes, std::size_t m,
                                    std::byte* out) {
  with_bits(bits, [=]<unsigned kBits>() SHOAL_INLINE { pack<kBits>(codes, m, out); });
}

SHOAL_INLINE inline bool unpack_codes(unsigned bits, const std::byte* in, std::size_t m,
                                      std::uint32_t* codes) {
  return with_bits(bits,
                   [=]<unsigned kBits>() SHOAL_INLINE { return unpack<kBits>(in, m, codes); });
}

}  // namespace shoal
