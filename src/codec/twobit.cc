#include "codec/twobit.h"

#include <algorithm>

#include "codec/pack.h"

namespace shoal {
namespace {

constexpr std::size_t kQuads = 4;  // times eight elements in each of 16 rounds of a whole block

// Codes of a whole block; false where an element is not finite.
SHOAL_INLINE inline bool measure(const float* x, float theta, Bits (&words)[kQuads]) {
  const auto least = static_cast<std::int32_t>(bits_of(theta));
  Ints wrong{};
  for (std::size_t round = 0; round < kBlock / (kQuads * kEight); ++round) {
    for (std::size_t q = 0; q < kQuads; ++q) {
      Bits bits;
      std::memcpy(&bits, x + kEight * (kQuads * round + q), sizeof bits);
      const Ints size = Ints(bits & 0x7fff'ffffU);
      wrong |= size >= static_cast<std::int32_t>(kInfinityBits);
      const Bits code = Bits(size >= least) & (1U + (bits >> 31U));
      words[q] = words[q] >> 2U | code << 30U;
    }
  }
  std::int32_t any = 0;
  for (std::size_t i = 0; i < kEight; ++i) any |= wrong[i];
  return any == 0;
}

// to = from + theta times what the codes of a whole block say; `to` may be `from`.
SHOAL_INLINE inline void add_codes(const Bits (&words)[kQuads], float theta, const float* from,
                                   float* to) {
  const std::uint32_t plus = bits_of(theta);
  const std::uint32_t minus = bits_of(-theta);
  for (std::size_t round = 0; round < kBlock / (kQuads * kEight); ++round) {
    for (std::size_t q = 0; q < kQuads; ++q) {
      const std::size_t at = kEight * (kQuads * round + q);
      const Bits code = words[q] >> static_cast<unsigned>(2 * round);
      Floats x;
      std::memcpy(&x, from + at, sizeof x);
      x += Floats(((0U - (code & 1U)) & plus) | ((0U - (code >> 1U & 1U)) & minus));
      std::memcpy(to + at, &x, sizeof x);
    }
  }
}

class TwobitCodec final : public Codec {
 public:
  TwobitCodec(float theta, Width width) : theta_(theta), width_(width) {}
  std::size_t bound(std::size_t n) const override { return packed_size(n, 2, 0); }
  std::size_t expected(std::size_t n) const override { return bound(n); }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey&) const override {
    return encode_blocks(source, nullptr, out);
  }
  std::size_t encode_with_residual(const Source& source, std::span<float> residual,
                                   std::span<std::byte> out, const DrawKey&) const override {
    SHOAL_CHECK_EQ(residual.size(), source.values.size());
    return encode_blocks(source, residual.data(), out);
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    Reader from(in, "twobit");
    from.require(bound(sum.size()));
    const float theta = scale * theta_;
    for (std::size_t at = 0; at < sum.size(); at += kBlock) {
      const std::size_t m = std::min(kBlock, sum.size() - at);
      const std::byte* const packed = from.take(4 * words_of(m, 2));
      float* const to = sum.data() + at;
      const bool sound =
          m == kBlock ? add_block(packed, theta, to) : add_last(packed, m, theta, to);
      if (!sound) from.corrupt("it has a code that no element has");
    }
  }

 private:
  std::size_t encode_blocks(const Source& source, float* residual, std::span<std::byte> out) const {
    require_room(*this, source, out);
    Writer to(out);
    const std::size_t n = source.values.size();
    for (std::size_t at = 0; at < n; at += kBlock) {
      const std::size_t m = std::min(kBlock, n - at);
      const float* const x = source.values.data() + at;
      float* const left = residual == nullptr ? nullptr : residual + at;
      std::byte* const packed = to.skip(4 * words_of(m, 2));
      const bool sound =
          m == kBlock ? encode_block(x, left, packed) : encode_last(x, m, left, packed);
      if (!sound) refuse_if_not_finite(kInfinityBits, source.values);
    }
    return to.size();
  }

  // False where an element is not finite.
  bool encode_block(const float* x, float* left, std::byte* packed) const {
    bool sound = true;
    run_wide(width_, kBlock, [=, this, &sound](std::size_t) SHOAL_INLINE {
      Bits words[kQuads] = {};
      sound = measure(x, theta_, words);
      if (!sound) return;
      std::memcpy(packed, words, sizeof words);
      if (left != nullptr) add_codes(words, -theta_, x, left);
    });
    return sound;
  }

  bool encode_last(const float* x, std::size_t m, float* left, std::byte* packed) const {
    std::uint32_t codes[kBlock];
    for (std::size_t i = 0; i < m; ++i) {
      if (!is_finite(x[i])) return false;
      codes[i] = magnitude(x[i]) < bits_of(theta_) ? 0U : 1U + (bits_of(x[i]) >> 31U);
    }
    pack<2>(codes, m, packed);
    for (std::size_t i = 0; left != nullptr && i < m; ++i)
      left[i] = x[i] - ternary(codes[i], theta_);
    return true;
  }

  // False where there is a code that no element has.
  bool add_block(const std::byte* packed, float theta, float* to) const {
    bool sound = true;
    run_wide(width_, kBlock, [=, &sound](std::size_t) SHOAL_INLINE {
      Bits words[kQuads];
      std::memcpy(words, packed, sizeof words);
      Bits both{};
      for (const Bits& word : words) both |= word & word >> 1U & 0x5555'5555U;
      for (std::size_t i = 0; i < kEight; ++i) sound = sound && both[i] == 0;
      if (sound) add_codes(words, theta, to, to);
    });
    return sound;
  }

  static bool add_last(const std::byte* packed, std::size_t m, float theta, float* to) {
    std::uint32_t codes[kBlock];
    bool sound = unpack<2>(packed, m, codes);
    for (std::size_t i = 0; i < m; ++i) {
      sound = sound && codes[i] <= 2;
      to[i] += ternary(codes[i], theta);
    }
    return sound;
  }

  float theta_;
  Width width_;
};

}  // namespace

std::unique_ptr<Codec> Twobit::make(Width width) const {
  return std::make_unique<TwobitCodec>(static_cast<float>(theta), width);
}

}  // namespace shoal
