// fp16 (IEEE 754 binary16) and bf16 (the upper half of a float), rounded to the nearest, ties to
// even: 2 bytes an element.
//
// The relative error is at most 2^-11 and 2^-8 in the normal range; fp16 has steps of 2^-24 below
// 2^-14. What is too large for the format becomes its largest number, 65504 or 3.3895e38, and not
// infinity, which would spread through the sum; with error feedback the rest stays in the residual.
#include <algorithm>

#include "codec/bytes.h"
#include "codec/codecs.h"

namespace shoal {
namespace {

struct Fp16 {
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

struct Bf16 {
  static constexpr const char* kName = "bf16";

  SHOAL_INLINE static std::uint32_t encode(std::uint32_t bits) {
    const std::uint32_t u = std::min(bits & 0x7fff'ffffU, 0x7f7f'0000U);
    return (bits >> 16U & 0x8000U) | (u + 0x7fffU + ((u >> 16U) & 1U)) >> 16U;
  }
  SHOAL_INLINE static std::uint32_t decode(std::uint32_t h) { return h << 16U; }
  SHOAL_INLINE static bool finite(std::uint32_t h) { return (h & 0x7f80U) != 0x7f80U; }
};

template <class Format>
class Half final : public Codec {
 public:
  explicit Half(Width width) : width_(width) {}
  std::size_t bound(std::size_t n) const override { return 2 * n; }
  std::size_t expected(std::size_t n) const override { return 2 * n; }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey&) const override {
    require_room(*this, source, out);
    const float* const x = source.values.data();
    std::byte* const to = out.data();
    std::uint32_t largest = 0;
    run_wide(width_, source.values.size(), [=, &largest](std::size_t n) SHOAL_INLINE {
      std::uint32_t top = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t bits = bits_of(x[i]);
        top = std::max(top, bits & 0x7fff'ffffU);
        const auto h = static_cast<std::uint16_t>(Format::encode(bits));
        std::memcpy(to + 2 * i, &h, 2);
      }
      largest = top;
    });
    refuse_if_not_finite(largest, source.values);
    return 2 * source.values.size();
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    const Reader reader(in, Format::kName);
    reader.require(2 * sum.size());
    const std::byte* const from = in.data();
    float* const to = sum.data();
    bool sound = true;
    run_wide(width_, sum.size(), [=, &sound](std::size_t n) SHOAL_INLINE {
      std::uint32_t wrong = 0;
#pragma GCC ivdep
      for (std::size_t i = 0; i < n; ++i) {
        std::uint16_t h;
        std::memcpy(&h, from + 2 * i, 2);
        wrong |= Format::finite(h) ? 0U : 1U;
        to[i] += scale * float_of(Format::decode(h));
      }
      sound = wrong == 0;
    });
    if (!sound) reader.corrupt("it holds a number that is not finite");
  }

 private:
  Width width_;
};

}  // namespace

std::unique_ptr<Codec> make_fp16(Width width) { return std::make_unique<Half<Fp16>>(width); }
std::unique_ptr<Codec> make_bf16(Width width) { return std::make_unique<Half<Bf16>>(width); }

}  // namespace shoal
