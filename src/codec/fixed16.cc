#include "codec/fixed16.h"

#include <algorithm>

#include "codec/draws.h"
#include "codec/pack.h"

namespace shoal {
namespace {

class Fixed16Codec final : public Codec {
 public:
  Fixed16Codec(std::uint32_t before_point, Width width)
      : step_(std::exp2(static_cast<float>(before_point) - 16)), width_(width) {}
  std::size_t bound(std::size_t n) const override { return 2 * n; }
  std::size_t expected(std::size_t n) const override { return 2 * n; }
  bool unbiased() const override { return true; }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey& key) const override {
    require_room(*this, source, out);
    const Draws draws(key);
    const float* const x = source.values.data();
    std::byte* const to = out.data();
    std::uint32_t largest = 0;
    run_wide(width_, source.values.size(), [=, this, &largest](std::size_t n) SHOAL_INLINE {
      std::uint32_t top = 0;
      const float steps = 1 / step_;
      float u[kBlock];
      std::int16_t mantissas[kBlock];
      for (std::size_t at = 0; at < n; at += kBlock) {
        const std::size_t m = std::min(kBlock, n - at);
        draws.uniforms(at, m, u);
        for (std::size_t i = 0; i < m; ++i) {
          top = std::max(top, magnitude(x[at + i]));
          const float v = std::clamp(x[at + i] * steps, -32768.0F, 32767.0F);
          mantissas[i] = static_cast<std::int16_t>(round_by(v, u[i]));
        }
        std::memcpy(to + 2 * at, mantissas, 2 * m);
      }
      largest = top;
    });
    refuse_if_not_finite(largest, source.values);
    return 2 * source.values.size();
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    const Reader reader(in, "fixed16");
    reader.require(2 * sum.size());
    const std::byte* const from = in.data();
    float* const to = sum.data();
    const float step = step_;
    run_wide(width_, sum.size(), [=](std::size_t n) SHOAL_INLINE {
      for (std::size_t i = 0; i < n; ++i) {
        std::int16_t mantissa;
        std::memcpy(&mantissa, from + 2 * i, 2);
        to[i] += scale * (static_cast<float>(mantissa) * step);
      }
    });
  }

 private:
  float step_;
  Width width_;
};

}  // namespace

std::unique_ptr<Codec> Fixed16::make(Width width) const {
  return std::make_unique<Fixed16Codec>(bits, width);
}

}  // namespace shoal
