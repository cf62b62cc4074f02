#include "codec/half.h"

#include <algorithm>

#include "codec/pack.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shoal {
namespace {

struct IeeeHalf {
  static constexpr const char* kName = "fp16";

  SHOAL_INLINE static std::uint32_t encode(std::uint32_t bits) {
    constexpr std::uint32_t kLargest = 0x477f'e000U;  // 65504
    constexpr std::uint32_t kNormal = 0x3880'0000U;   // 2^-14, the smallest normal one
    constexpr std::uint32_t kHalf = 0x3f00'0000U;     // 0.5, whose last place is 2^-24
    const std::uint32_t u = std::min(bits & 0x7fff'ffffU, kLargest);
    const std::uint32_t normal = (u - (112U << 23U) + 0xfffU + ((u >> 13U) & 1U)) >> 13U;
    // The addition rounds, and leaves a multiple of 2^-24 in the last places.
    const std::uint32_t small = bits_of(float_of(std::min(u, kNormal)) + 0.5F) - kHalf;
    return (bits >> 16U & 0x8000U) | (u < kNormal ? small : normal);
  }
  SHOAL_INLINE static std::uint32_t decode(std::uint32_t h) {
    const std::uint32_t rest = h & 0x7fffU;
    const std::uint32_t normal = (rest << 13U) + (112U << 23U);
    const std::uint32_t small = bits_of(float_of(0x3f00'0000U | (rest & 0x3ffU)) - 0.5F);
    return (h & 0x8000U) << 16U | (rest < 0x400U ? small : normal);
  }
  SHOAL_INLINE static bool finite(std::uint32_t h) { return (h & 0x7c00U) != 0x7c00U; }
};

struct BrainHalf {
  static constexpr const char* kName = "bf16";

  SHOAL_INLINE static std::uint32_t encode(std::uint32_t bits) {
    const std::uint32_t u = std::min(bits & 0x7fff'ffffU, 0x7f7f'0000U);
    return (bits >> 16U & 0x8000U) | (u + 0x7fffU + ((u >> 16U) & 1U)) >> 16U;
  }
  SHOAL_INLINE static std::uint32_t decode(std::uint32_t h) { return h << 16U; }
  SHOAL_INLINE static bool finite(std::uint32_t h) { return (h & 0x7f80U) != 0x7f80U; }
};

// By intrinsics where the machine has them: the compiler's own narrowing takes twice as long. Same
// bits. All return the largest magnitude, or whether all were finite. REQUIRES: n is a multiple of
// kTurn. (f16c is older than avx2 and fma: a processor that has these has it.)
constexpr std::size_t kTurn = 16;
#if defined(__x86_64__)
__attribute__((target("avx2"))) std::uint32_t highest(__m256i top) {
  std::uint32_t lanes[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), top);
  return *std::ranges::max_element(lanes);
}

__attribute__((target("avx2,f16c"))) std::uint32_t encode_turns(IeeeHalf, const float* x,
                                                                std::size_t n, std::byte* to) {
  const __m256 most = _mm256_set1_ps(65504.0F);
  const __m256 least = _mm256_set1_ps(-65504.0F);
  const __m256i unsign = _mm256_set1_epi32(0x7fffffff);
  __m256i top = _mm256_setzero_si256();
  for (std::size_t i = 0; i < n; i += 8) {
    const __m256 eight = _mm256_loadu_ps(x + i);
    top = _mm256_max_epu32(top, _mm256_and_si256(_mm256_castps_si256(eight), unsign));
    const __m256 bounded = _mm256_max_ps(_mm256_min_ps(eight, most), least);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * i),
                     _mm256_cvtps_ph(bounded, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  return highest(top);
}

__attribute__((target("avx2,f16c"))) bool add_turns(IeeeHalf, const std::byte* from, std::size_t n,
                                                    float scale, float* to) {
  const __m128i exponent = _mm_set1_epi16(0x7c00);
  const __m256 factor = _mm256_set1_ps(scale);
  __m128i wrong = _mm_setzero_si128();
  for (std::size_t i = 0; i < n; i += 8) {
    const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * i));
    wrong = _mm_or_si128(wrong, _mm_cmpeq_epi16(_mm_and_si128(eight, exponent), exponent));
    const __m256 scaled = _mm256_mul_ps(factor, _mm256_cvtph_ps(eight));
    _mm256_storeu_ps(to + i, _mm256_add_ps(_mm256_loadu_ps(to + i), scaled));
  }
  return _mm_movemask_epi8(wrong) == 0;
}

__attribute__((target("avx2"))) std::uint32_t encode_turns(BrainHalf, const float* x, std::size_t n,
                                                           std::byte* to) {
  const __m256i unsign = _mm256_set1_epi32(0x7fffffff);
  const __m256i most = _mm256_set1_epi32(0x7f7f0000);
  __m256i top = _mm256_setzero_si256();
  for (std::size_t i = 0; i < n; i += kTurn) {
    __m256i halves[2];
    for (std::size_t h = 0; h < 2; ++h) {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i + 8 * h));
      const __m256i size = _mm256_and_si256(bits, unsign);
      top = _mm256_max_epu32(top, size);
      const __m256i bounded = _mm256_min_epu32(size, most);
      const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bounded, 16), _mm256_set1_epi32(1));
      const __m256i rounded =
          _mm256_add_epi32(bounded, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff)));
      halves[h] =
          _mm256_srli_epi32(_mm256_or_si256(rounded, _mm256_andnot_si256(unsign, bits)), 16);
    }
    const __m256i mixed = _mm256_packus_epi32(halves[0], halves[1]);  // 0 4 1 5 of four
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 2 * i),
                        _mm256_permute4x64_epi64(mixed, 0xd8));
  }
  return highest(top);
}

__attribute__((target("avx2"))) bool add_turns(BrainHalf, const std::byte* from, std::size_t n,
                                               float scale, float* to) {
  const __m256i exponent = _mm256_set1_epi32(0x7f800000);
  const __m256 factor = _mm256_set1_ps(scale);
  __m256i wrong = _mm256_setzero_si256();
  for (std::size_t i = 0; i < n; i += 8) {
    const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * i));
    const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu16_epi32(eight), 16);
    wrong = _mm256_or_si256(wrong, _mm256_cmpeq_epi32(_mm256_and_si256(bits, exponent), exponent));
    const __m256 scaled = _mm256_mul_ps(factor, _mm256_castsi256_ps(bits));
    _mm256_storeu_ps(to + i, _mm256_add_ps(_mm256_loadu_ps(to + i), scaled));
  }
  return _mm256_movemask_epi8(wrong) == 0;
}
#else
template <class Format>
std::uint32_t encode_turns(Format, const float*, std::size_t, std::byte*) {
  return 0;
}
template <class Format>
bool add_turns(Format, const std::byte*, std::size_t, float, float*) {
  return true;
}
#endif

template <class Format>
class Half final : public Codec {
 public:
  explicit Half(Width width) : width_(width) {}
  std::size_t bound(std::size_t n) const override { return 2 * n; }
  std::size_t expected(std::size_t n) const override { return 2 * n; }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey&) const override {
    require_room(*this, source, out);
    const std::size_t turns = in_turns(source.values.size());
    std::uint32_t largest = encode_turns(Format(), source.values.data(), turns, out.data());
    const float* const x = source.values.data() + turns;
    std::byte* const to = out.data() + 2 * turns;
    run_wide(width_, source.values.size() - turns, [=, &largest](std::size_t n) SHOAL_INLINE {
      std::uint32_t top = largest;
      for (std::size_t at = 0; at < n; at += kBlock) {
        const std::size_t m = std::min(kBlock, n - at);
        std::uint16_t halves[kBlock];
        for (std::size_t i = 0; i < m; ++i) top = std::max(top, magnitude(x[at + i]));
        for (std::size_t i = 0; i < m; ++i)
          halves[i] = static_cast<std::uint16_t>(Format::encode(bits_of(x[at + i])));
        std::memcpy(to + 2 * at, halves, 2 * m);
      }
      largest = top;
    });
    refuse_if_not_finite(largest, source.values);
    return 2 * source.values.size();
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    const Reader reader(in, Format::kName);
    reader.require(2 * sum.size());
    const std::size_t turns = in_turns(sum.size());
    bool sound = add_turns(Format(), in.data(), turns, scale, sum.data());
    const std::byte* const from = in.data() + 2 * turns;
    float* const to = sum.data() + turns;
    run_wide(width_, sum.size() - turns, [=, &sound](std::size_t n) SHOAL_INLINE {
      std::uint16_t wrong = 0;
      for (std::size_t at = 0; at < n; at += kBlock) {
        const std::size_t m = std::min(kBlock, n - at);
        std::uint16_t halves[kBlock];
        std::memcpy(halves, from + 2 * at, 2 * m);
        for (std::size_t i = 0; i < m; ++i) wrong |= Format::finite(halves[i]) ? 0 : 1;
        for (std::size_t i = 0; i < m; ++i)
          to[at + i] += scale * float_of(Format::decode(halves[i]));
      }
      sound = sound && wrong == 0;
    });
    if (!sound) reader.corrupt("it holds a number that is not finite");
  }

 private:
  // How many elements go by turns.
  std::size_t in_turns(std::size_t n) const {
    return width_ == Width::Avx2 ? n / kTurn * kTurn : 0;
  }

  Width width_;
};

}  // namespace

std::unique_ptr<Codec> Fp16::make(Width width) const {
  return std::make_unique<Half<IeeeHalf>>(width);
}
std::unique_ptr<Codec> Bf16::make(Width width) const {
  return std::make_unique<Half<BrainHalf>>(width);
}

}  // namespace shoal
