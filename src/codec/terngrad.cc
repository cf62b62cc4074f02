#include "codec/terngrad.h"

#include <algorithm>

#include "codec/draws.h"
#include "codec/pack.h"
#include "codec/terngrad_scale.h"

namespace shoal {
namespace {

constexpr double kClip = 2.5;  // standard deviations

class TerngradCodec final : public Codec {
 public:
  explicit TerngradCodec(Width width) : width_(width) {}
  std::size_t bound(std::size_t n) const override { return 4 + packed_size(n, 2, 0); }
  std::size_t expected(std::size_t n) const override { return bound(n); }
  bool unbiased() const override { return true; }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey& key) const override {
    require_room(*this, source, out);
    return terngrad_encode(source.values, terngrad_scale(source.values, width_), out, key, width_);
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    Reader from(in, "terngrad");
    from.require(bound(sum.size()));
    const float s = scale * from.get_finite();
    for (std::size_t at = 0; at < sum.size(); at += kBlock) {
      const std::size_t m = std::min(kBlock, sum.size() - at);
      const std::byte* const words = from.take(4 * words_of(m, 2));
      float* const to = sum.data() + at;
      bool sound = true;
      run_wide(width_, m, [=, &sound](std::size_t count) SHOAL_INLINE {
        std::uint32_t codes[kBlock];
        sound = unpack<2>(words, count, codes);
        std::uint32_t top = 0;
        for (std::size_t i = 0; i < count; ++i) {
          top = std::max(top, codes[i]);
          to[i] += ternary(codes[i], s);
        }
        sound = sound && top <= 2;
      });
      if (!sound) from.corrupt("it has a code that no element has");
    }
  }

 private:
  Width width_;
};

}  // namespace

float terngrad_scale(std::span<const float> values, Width width) {
  const std::uint32_t top = largest_magnitude(values, width);
  refuse_if_not_finite(top, values);
  if (values.empty()) return 0;
  const double mean = sum_of_squares(values, width) / static_cast<double>(values.size());
  const double most = kClip * std::sqrt(mean);
  return most < static_cast<double>(float_of(top)) ? static_cast<float>(most) : float_of(top);
}

std::size_t terngrad_encode(std::span<const float> values, float s, std::span<std::byte> out,
                            const DrawKey& key, Width width) {
  SHOAL_CHECK(is_finite(s) && s >= 0, "a scale of {}", s);
  SHOAL_CHECK_GE(out.size(), 4 + packed_size(values.size(), 2, 0));
  Writer to(out);
  to.put(s);
  const Draws draws(key);
  std::uint32_t largest = 0;
  for (std::size_t at = 0; at < values.size(); at += kBlock) {
    const std::size_t m = std::min(kBlock, values.size() - at);
    const float* const x = values.data() + at;
    std::byte* const words = to.skip(4 * words_of(m, 2));
    run_wide(width, m, [=, &largest](std::size_t count) SHOAL_INLINE {
      std::uint32_t codes[kBlock];
      float u[kBlock];
      draws.uniforms(at, count, u);
      std::uint32_t top = 0;
      for (std::size_t i = 0; i < count; ++i) {
        top = std::max(top, magnitude(x[i]));
        // Comparisons with 0 / 0 are false.
        const std::uint32_t sent = u[i] < float_of(magnitude(x[i])) / s ? ~0U : 0U;
        codes[i] = sent & (1U + (bits_of(x[i]) >> 31U));
      }
      largest = std::max(largest, top);
      pack<2>(codes, count, words);
    });
  }
  refuse_if_not_finite(largest, values);
  return to.size();
}

std::unique_ptr<Codec> Terngrad::make(Width width) const {
  return std::make_unique<TerngradCodec>(width);
}

}  // namespace shoal
