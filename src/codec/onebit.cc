#include "codec/onebit.h"

#include <algorithm>

#include "codec/pack.h"

namespace shoal {
namespace {

constexpr std::size_t kHead = 8;

struct Means {
  float plus;   // of elements whose sign bit is 0
  float minus;  // is 1
};

// In double precision: for sums that are beyond a float, and for the last block.
Means careful_means(const float* x, std::size_t m) {
  double sum[2] = {};
  double count[2] = {};
  for (std::size_t i = 0; i < m; ++i) {
    sum[bits_of(x[i]) >> 31U] += static_cast<double>(x[i]);
    ++count[bits_of(x[i]) >> 31U];
  }
  return {static_cast<float>(sum[0] / std::max(1.0, count[0])),
          static_cast<float>(sum[1] / std::max(1.0, count[1]))};
}

// Signs and means of a whole block in one pass: 32 rounds of two times eight elements, whose signs
// go to the same bit of 16 words. An element that is not finite makes its sum so.
SHOAL_INLINE inline Means measure(const float* x, Bits (&words)[2]) {
  Floats plus[2] = {};
  Floats minus[2] = {};
  for (std::size_t round = 0; round < 32; ++round) {
    for (std::size_t half = 0; half < 2; ++half) {
      Bits bits;
      std::memcpy(&bits, x + kEight * (2 * round + half), sizeof bits);
      const Bits negative = Bits(Ints(bits) >> 31);  // all ones where it is
      plus[half] += Floats(bits & ~negative);
      minus[half] += Floats(bits & negative);
      words[half] = words[half] >> 1U | (bits & 0x8000'0000U);
    }
  }
  Means sums{};
  int negative = 0;
  for (std::size_t i = 0; i < 2 * kEight; ++i) {
    sums.plus += plus[i / kEight][i % kEight];
    sums.minus += minus[i / kEight][i % kEight];
    negative += std::popcount(words[i / kEight][i % kEight]);
  }
  const int positive = static_cast<int>(kBlock) - negative;
  return {sums.plus / static_cast<float>(std::max(1, positive)),
          sums.minus / static_cast<float>(std::max(1, negative))};
}

// to = from + the means of the block's signs, or these alone; `to` may be `from`.
template <bool adds = true>
SHOAL_INLINE inline void add_means(const Bits (&words)[2], Means means, const float* from,
                                   float* to) {
  const Bits plus = Bits{} + bits_of(means.plus);
  const Bits minus = Bits{} + bits_of(means.minus);
  for (std::size_t round = 0; round < 32; ++round) {
    for (std::size_t half = 0; half < 2; ++half) {
      const std::size_t at = kEight * (2 * round + half);
      const Bits negative = Bits(Ints(words[half] << (31 - static_cast<unsigned>(round))) >> 31);
      Floats x{};
      if constexpr (adds) std::memcpy(&x, from + at, sizeof x);
      x += Floats((plus & ~negative) | (minus & negative));
      std::memcpy(to + at, &x, sizeof x);
    }
  }
}

class OnebitCodec final : public Codec {
 public:
  explicit OnebitCodec(Width width) : width_(width) {}
  std::size_t bound(std::size_t n) const override { return packed_size(n, 1, kHead); }
  std::size_t expected(std::size_t n) const override { return bound(n); }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey&) const override {
    return encode_blocks(source, nullptr, nullptr, out);
  }
  std::size_t encode_with_residual(const Source& source, std::span<float> residual,
                                   std::span<std::byte> out, const DrawKey&) const override {
    SHOAL_CHECK_EQ(residual.size(), source.values.size());
    return encode_blocks(source, nullptr, residual.data(), out);
  }
  std::size_t encode_carried(std::span<const float> latest, std::span<const float> carried,
                             std::span<float> residual, std::span<std::byte> out,
                             const DrawKey&) const override {
    SHOAL_CHECK(residual.size() == latest.size() && carried.size() == latest.size(),
                "{} and {} elements for {}", carried.size(), residual.size(), latest.size());
    return encode_blocks({residual, latest}, carried.data(), residual.data(), out);
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    decode_blocks<true>(in, sum, scale);
  }
  void decode(std::span<const std::byte> in, std::span<float> out) const override {
    decode_blocks<false>(in, out, 1);
  }

 private:
  // The values are there, or, where something is carried, made in the memory of the residual.
  std::size_t encode_blocks(const Source& source, const float* carried, float* residual,
                            std::span<std::byte> out) const {
    require_room(*this, source, out);
    Writer to(out);
    const std::size_t n = source.values.size();
    for (std::size_t at = 0; at < n; at += kBlock) {
      const std::size_t m = std::min(kBlock, n - at);
      const float* const x = source.values.data() + at;
      float* const left = residual == nullptr ? nullptr : residual + at;
      if (carried != nullptr) add_block(source.latest.data() + at, carried + at, m, left);
      std::byte* const head = to.skip(kHead);
      std::byte* const signs = to.skip(4 * words_of(m, 1));
      const bool sound =
          m == kBlock ? encode_block(x, left, head, signs) : encode_last(x, m, left, head, signs);
      if (!sound) refuse_if_not_finite(kInfinityBits, source.values);
    }
    return to.size();
  }

  void add_block(const float* a, const float* b, std::size_t m, float* sum) const {
    run_wide(width_, m, [=](std::size_t n) SHOAL_INLINE {
      for (std::size_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
    });
  }

  // False where an element is not finite.
  bool encode_block(const float* x, float* left, std::byte* head, std::byte* signs) const {
    bool sound = true;
    run_wide(width_, kBlock, [=, &sound](std::size_t) SHOAL_INLINE {
      Bits words[2] = {};
      Means means = measure(x, words);
      if (!is_finite(means.plus) || !is_finite(means.minus)) {
        means = careful_means(x, kBlock);
        sound = is_finite(means.plus) && is_finite(means.minus);
        if (!sound) return;
      }
      std::memcpy(head, &means, sizeof means);
      std::memcpy(signs, words, sizeof words);
      if (left != nullptr) add_means(words, {-means.plus, -means.minus}, x, left);
    });
    return sound;
  }

  static bool encode_last(const float* x, std::size_t m, float* left, std::byte* head,
                          std::byte* signs) {
    const Means means = careful_means(x, m);
    if (!is_finite(means.plus) || !is_finite(means.minus)) return false;
    std::uint32_t codes[kBlock];
    for (std::size_t i = 0; i < m; ++i) codes[i] = bits_of(x[i]) >> 31U;
    std::memcpy(head, &means, sizeof means);
    pack<1>(codes, m, signs);
    for (std::size_t i = 0; left != nullptr && i < m; ++i)
      left[i] = x[i] - (codes[i] == 0 ? means.plus : means.minus);
    return true;
  }

  template <bool adds>
  void decode_blocks(std::span<const std::byte> in, std::span<float> sum, float scale) const {
    Reader from(in, "onebit");
    from.require(bound(sum.size()));
    for (std::size_t at = 0; at < sum.size(); at += kBlock) {
      const std::size_t m = std::min(kBlock, sum.size() - at);
      const Means means{scale * from.get_finite(), scale * from.get_finite()};
      const std::byte* const signs = from.take(4 * words_of(m, 1));
      float* const to = sum.data() + at;
      if (m == kBlock) {
        decode_block<adds>(signs, means, to);
      } else {
        std::uint32_t codes[kBlock];
        if (!unpack<1>(signs, m, codes)) from.corrupt("it has signs of no element");
        for (std::size_t i = 0; i < m; ++i)
          to[i] = (adds ? to[i] : 0) + (codes[i] == 0 ? means.plus : means.minus);
      }
    }
  }

  template <bool adds>
  void decode_block(const std::byte* signs, Means means, float* to) const {
    run_wide(width_, kBlock, [=](std::size_t) SHOAL_INLINE {
      Bits words[2];
      std::memcpy(words, signs, sizeof words);
      add_means<adds>(words, means, to, to);
    });
  }

  Width width_;
};

}  // namespace

std::unique_ptr<Codec> Onebit::make(Width width) const {
  return std::make_unique<OnebitCodec>(width);
}

}  // namespace shoal
