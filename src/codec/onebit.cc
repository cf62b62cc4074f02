// onebit: a sign for each element, and for each block of 512 the mean of those with either sign.
// Seide, Fu, Droppo, Li, Yu, "1-bit stochastic gradient descent and its application to
// data-parallel distributed training of speech DNNs", Interspeech 2014.
//
// Written: for each block the two means, then the signs: 1.125 bits an element. Makes sense with
// error feedback only; without, small elements beside large ones are overstated for ever.
// Deviation: the paper has its means by columns of a matrix, here they are by blocks.
#include <algorithm>

#include "codec/codecs.h"
#include "codec/pack.h"

namespace shoal {
namespace {

constexpr std::size_t kHead = 8;
constexpr std::size_t kSums = 32;  // side by side, in the same order for every width

struct Means {
  float of[2];  // of elements with sign bit 0 and 1
};

// For sums that are beyond a float.
Means careful_means(const float* x, std::size_t m) {
  double sum[2] = {};
  double count[2] = {};
  for (std::size_t i = 0; i < m; ++i) {
    sum[bits_of(x[i]) >> 31U] += x[i];
    ++count[bits_of(x[i]) >> 31U];
  }
  return {{static_cast<float>(sum[0] / std::max(1.0, count[0])),
           static_cast<float>(sum[1] / std::max(1.0, count[1]))}};
}

// Signs to `codes`, the largest magnitude to `largest`.
SHOAL_INLINE inline Means measure(const float* x, std::size_t m, std::uint32_t* codes,
                                  std::uint32_t& largest) {
  float plus[kSums] = {};
  float minus[kSums] = {};
  std::uint32_t top = 0;
  std::uint32_t negative = 0;
  std::size_t i = 0;
  for (; i + kSums <= m; i += kSums) {
    for (std::size_t j = 0; j < kSums; ++j) {
      plus[j] += x[i + j] > 0 ? x[i + j] : 0.0F;
      minus[j] += x[i + j] < 0 ? x[i + j] : 0.0F;
    }
  }
  for (std::size_t j = 0; i < m; ++i, ++j) {
    plus[j] += x[i] > 0 ? x[i] : 0.0F;
    minus[j] += x[i] < 0 ? x[i] : 0.0F;
  }
  for (i = 0; i < m; ++i) {
    codes[i] = bits_of(x[i]) >> 31U;
    negative += codes[i];
    top = std::max(top, magnitude(x[i]));
  }
  largest = std::max(largest, top);
  float sum[2] = {};
  for (std::size_t j = 0; j < kSums; ++j) {
    sum[0] += plus[j];
    sum[1] += minus[j];
  }
  if (!is_finite(sum[0]) || !is_finite(sum[1])) return careful_means(x, m);
  const auto count = static_cast<std::uint32_t>(m);
  return {{sum[0] / static_cast<float>(std::max(1U, count - negative)),
           sum[1] / static_cast<float>(std::max(1U, negative))}};
}

class Onebit final : public Codec {
 public:
  explicit Onebit(Width width) : width_(width) {}
  std::size_t bound(std::size_t n) const override { return packed_size(n, 1, kHead); }
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
    Reader from(in, "onebit");
    from.require(bound(sum.size()));
    for (std::size_t at = 0; at < sum.size(); at += kBlock) {
      const std::size_t m = std::min(kBlock, sum.size() - at);
      const float plus = scale * from.get_finite();
      const float minus = scale * from.get_finite();
      const std::byte* const words = from.take(4 * words_of(m, 1));
      float* const to = sum.data() + at;
      bool sound = true;
      run_wide(width_, m, [=, &sound](std::size_t count) SHOAL_INLINE {
        std::uint32_t codes[kBlock];
        sound = unpack<1>(words, count, codes);
        for (std::size_t i = 0; i < count; ++i) to[i] += codes[i] == 0 ? plus : minus;
      });
      if (!sound) from.corrupt("it has signs of no element");
    }
  }

 private:
  std::size_t encode_blocks(const Source& source, float* rest, std::span<std::byte> out) const {
    require_room(*this, source, out);
    Writer to(out);
    std::uint32_t largest = 0;
    const std::size_t n = source.values.size();
    for (std::size_t at = 0; at < n; at += kBlock) {
      const std::size_t m = std::min(kBlock, n - at);
      const float* const x = source.values.data() + at;
      float* const left = rest == nullptr ? nullptr : rest + at;
      std::byte* const head = to.skip(kHead);
      std::byte* const words = to.skip(4 * words_of(m, 1));
      run_wide(width_, m, [=, &largest](std::size_t count) SHOAL_INLINE {
        std::uint32_t codes[kBlock];
        const Means means = measure(x, count, codes, largest);
        if (largest >= kInfinityBits) return;
        std::memcpy(head, &means, sizeof means);
        pack<1>(codes, count, words);
        if (left == nullptr) return;
        const float plus = means.of[0];
        const float minus = means.of[1];
#pragma GCC ivdep
        for (std::size_t i = 0; i < count; ++i) left[i] = x[i] - (codes[i] == 0 ? plus : minus);
      });
      refuse_if_not_finite(largest, source.values);
    }
    return to.size();
  }

  Width width_;
};

}  // namespace

std::unique_ptr<Codec> make_onebit(Width width) { return std::make_unique<Onebit>(width); }

}  // namespace shoal
