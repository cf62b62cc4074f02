// twobit: -theta, 0 or theta, whichever the element reaches; the rest is kept. As in MXNet
// (Chen et al., "MXNet: a flexible and efficient machine learning library for heterogeneous
// distributed systems", 2015, arXiv:1512.01274; its gradient compression of 2017).
//
// Written: 2 bits an element. An element beyond theta sends theta, and its rest goes on sending.
#include <algorithm>

#include "codec/codecs.h"
#include "codec/pack.h"

namespace shoal {
namespace {

class Twobit final : public Codec {
 public:
  Twobit(float theta, Width width) : theta_(theta), width_(width) {}
  std::size_t bound(std::size_t n) const override { return packed_size(n, 2, 0); }
  std::size_t expected(std::size_t n) const override { return bound(n); }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey&) const override {
    return encode_blocks(source, nullptr, out);
  }
  std::size_t encode_with_rest(const Source& source, std::span<float> rest,
                               std::span<std::byte> out, const DrawKey&) const override {
    SHOAL_CHECK_EQ(rest.size(), source.values.size());
    return encode_blocks(source, rest.data(), out);
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    Reader from(in, "twobit");
    from.require(bound(sum.size()));
    const float theta = scale * theta_;
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
          to[i] += value_of(codes[i], theta);
        }
        sound = sound && top <= 2;
      });
      if (!sound) from.corrupt("it has a code that no element has");
    }
  }

 private:
  // 0: nothing, 1: theta, 2: -theta.
  SHOAL_INLINE static float value_of(std::uint32_t code, float theta) {
    const std::uint32_t sign = code >> 1U << 31U;
    return float_of((bits_of(theta) ^ sign) & (code == 0 ? 0U : ~0U));
  }

  std::size_t encode_blocks(const Source& source, float* rest, std::span<std::byte> out) const {
    require_room(*this, source, out);
    Writer to(out);
    std::uint32_t largest = 0;
    const std::size_t n = source.values.size();
    for (std::size_t at = 0; at < n; at += kBlock) {
      const std::size_t m = std::min(kBlock, n - at);
      const float* const x = source.values.data() + at;
      float* const left = rest == nullptr ? nullptr : rest + at;
      std::byte* const words = to.skip(4 * words_of(m, 2));
      run_wide(width_, m, [=, this, &largest](std::size_t count) SHOAL_INLINE {
        std::uint32_t codes[kBlock];
        std::uint32_t top = 0;
        const float theta = theta_;
        for (std::size_t i = 0; i < count; ++i) {
          top = std::max(top, magnitude(x[i]));
          codes[i] = magnitude(x[i]) < bits_of(theta) ? 0U : 1U + (bits_of(x[i]) >> 31U);
        }
        largest = std::max(largest, top);
        if (largest >= kInfinityBits) return;
        pack<2>(codes, count, words);
        if (left == nullptr) return;
#pragma GCC ivdep
        for (std::size_t i = 0; i < count; ++i) left[i] = x[i] - value_of(codes[i], theta);
      });
      refuse_if_not_finite(largest, source.values);
    }
    return to.size();
  }

  float theta_;
  Width width_;
};

}  // namespace

std::unique_ptr<Codec> make_twobit(double theta, Width width) {
  return std::make_unique<Twobit>(static_cast<float>(theta), width);
}

}  // namespace shoal
