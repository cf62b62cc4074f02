#include "codec/qsgd.h"

#include <algorithm>

#include "codec/draws.h"
#include "codec/elias.h"
#include "codec/levels.h"

namespace shoal {

// The norm of a block, rounded down to leave room for the rounding of levels.
SHOAL_INLINE static inline float norm_of(const float* x, std::size_t m) {
  Lanes lanes;
  std::size_t i = 0;
  for (; i + kLanes <= m; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) lanes.add_square(j, x[i + j]);
  for (std::size_t j = 0; i < m; ++i, ++j) lanes.add_square(j, x[i]);
  return static_cast<float>(std::min(std::sqrt(lanes.total()), kQsgdNormMost));
}

float qsgd_levels(const float* x, std::size_t m, std::uint32_t levels, const Draws& draws,
                  std::size_t at, Width width, std::uint32_t* codes) {
  float norm = 0;
  run_wide(width, m, [=, &norm](std::size_t count) SHOAL_INLINE {
    float u[kBlock];
    draws.uniforms(at, count, u);
    norm = norm_of(x, count);
    const float divisor = norm > 0 ? norm : 1.0F;
    const auto most = static_cast<float>(levels);
    for (std::size_t i = 0; i < count; ++i) {
      const float v = std::min(float_of(magnitude(x[i])) / divisor * most, most);
      const auto level = static_cast<std::uint32_t>(round_by(v, u[i]));
      codes[i] = level << 1U | bits_of(x[i]) >> 31U;
    }
  });
  return norm;
}

void qsgd_add(const std::uint32_t* codes, std::size_t m, float unit, Width width, float* sum) {
  run_wide(width, m, [=](std::size_t count) SHOAL_INLINE {
    for (std::size_t i = 0; i < count; ++i) {
      const float size = static_cast<float>(static_cast<std::int32_t>(codes[i] >> 1U)) * unit;
      sum[i] += float_of(bits_of(size) ^ codes[i] << 31U);
    }
  });
}

namespace {

class QsgdCodec final : public Codec {
 public:
  QsgdCodec(std::uint32_t levels, Width width)
      : levels_(levels), bits_(bits_for(2 * levels + 1)), width_(width) {}
  std::size_t bound(std::size_t n) const override { return packed_size(n, bits_, 4); }
  std::size_t expected(std::size_t n) const override { return bound(n); }
  bool unbiased() const override { return true; }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey& key) const override {
    require_room(*this, source, out);
    refuse_if_not_finite(largest_magnitude(source.values, width_), source.values);
    Writer to(out);
    const Draws draws(key);
    const std::size_t n = source.values.size();
    std::uint32_t codes[kBlock];
    for (std::size_t at = 0; at < n; at += kBlock) {
      const std::size_t m = std::min(kBlock, n - at);
      to.put(qsgd_levels(source.values.data() + at, m, levels_, draws, at, width_, codes));
      std::byte* const words = to.skip(4 * words_of(m, bits_));
      run_wide(width_, m, [=, this, &codes](std::size_t count) SHOAL_INLINE {
        pack_codes(bits_, codes, count, words);
      });
    }
    return to.size();
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    Reader from(in, "qsgd");
    from.require(bound(sum.size()));
    std::uint32_t codes[kBlock];
    for (std::size_t at = 0; at < sum.size(); at += kBlock) {
      const std::size_t m = std::min(kBlock, sum.size() - at);
      const float unit = from.get_finite() / static_cast<float>(levels_);
      const std::byte* const words = from.take(4 * words_of(m, bits_));
      bool sound = true;
      run_wide(width_, m, [=, this, &sound, &codes](std::size_t count) SHOAL_INLINE {
        sound = unpack_codes(bits_, words, count, codes);
        std::uint32_t top = 0;
        for (std::size_t i = 0; i < count; ++i) top = std::max(top, codes[i] >> 1U);
        sound = sound && top <= levels_;
      });
      if (!sound) from.corrupt("it has a level that no element has");
      qsgd_add(codes, m, scale * unit, width_, sum.data() + at);
    }
  }

 private:
  std::uint32_t levels_;
  unsigned bits_;
  Width width_;
};

}  // namespace

std::unique_ptr<Codec> Qsgd::make(Width width) const {
  if (elias) return make_qsgd_elias(levels, width);
  return std::make_unique<QsgdCodec>(levels, width);
}

}  // namespace shoal
