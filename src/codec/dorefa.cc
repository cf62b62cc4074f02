#include "codec/dorefa.h"

#include <algorithm>

#include "codec/draws.h"
#include "codec/levels.h"

namespace shoal {
namespace {

class DorefaCodec final : public Codec {
 public:
  DorefaCodec(std::uint32_t bits, Width width)
      : top_level_((1U << bits) - 1), bits_(bits_for(top_level_)), width_(width) {}
  std::size_t bound(std::size_t n) const override { return 4 + packed_size(n, bits_, 0); }
  std::size_t expected(std::size_t n) const override { return bound(n); }
  bool unbiased() const override { return true; }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey& key) const override {
    require_room(*this, source, out);
    const std::uint32_t top = largest_magnitude(source.values, width_);
    refuse_if_not_finite(top, source.values);
    Writer to(out);
    to.put(float_of(top));
    const float divisor = top == 0 ? 1.0F : float_of(top);
    const float half = static_cast<float>(top_level_) / 2;
    const Draws draws(key);
    const std::size_t n = source.values.size();
    for (std::size_t at = 0; at < n; at += kBlock) {
      const std::size_t m = std::min(kBlock, n - at);
      const float* const x = source.values.data() + at;
      std::byte* const words = to.skip(4 * words_of(m, bits_));
      run_wide(width_, m, [=, this](std::size_t count) SHOAL_INLINE {
        std::uint32_t codes[kBlock];
        float u[kBlock];
        draws.uniforms(at, count, u);
        for (std::size_t i = 0; i < count; ++i)
          codes[i] = static_cast<std::uint32_t>(round_by(x[i] / divisor * half + half, u[i]));
        pack_codes(bits_, codes, count, words);
      });
    }
    return to.size();
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    Reader from(in, "dorefa");
    from.require(bound(sum.size()));
    const float most = scale * from.get_finite();
    const float part = 2 / static_cast<float>(top_level_);
    for (std::size_t at = 0; at < sum.size(); at += kBlock) {
      const std::size_t m = std::min(kBlock, sum.size() - at);
      const std::byte* const words = from.take(4 * words_of(m, bits_));
      float* const to = sum.data() + at;
      bool sound = true;
      run_wide(width_, m, [=, this, &sound](std::size_t count) SHOAL_INLINE {
        std::uint32_t codes[kBlock];
        sound = unpack_codes(bits_, words, count, codes);
        std::uint32_t top = 0;
        for (std::size_t i = 0; i < count; ++i) {
          top = std::max(top, codes[i]);
          to[i] += (static_cast<float>(static_cast<std::int32_t>(codes[i])) * part - 1) * most;
        }
        sound = sound && top <= top_level_;
      });
      if (!sound) from.corrupt("it has a level that no element has");
    }
  }

 private:
  std::uint32_t top_level_;
  unsigned bits_;
  Width width_;
};

}  // namespace

std::unique_ptr<Codec> Dorefa::make(Width width) const {
  return std::make_unique<DorefaCodec>(bits, width);
}

}  // namespace shoal
