#include <algorithm>
#include <numbers>

#include "codec/draws.h"
#include "codec/elias.h"
#include "codec/pack.h"
#include "codec/qsgd.h"

namespace shoal {
namespace {

class QsgdElias final : public Codec {
 public:
  QsgdElias(std::uint32_t levels, Width width)
      : levels_(levels), bits_of_most_(longest_level(levels)), width_(width) {
    bits_of_block_ = bits_of_normal_block();
  }

  // The worst is a block without zeros: leaving one out spares two bits or more, and makes a gap
  // longer by fewer.
  std::size_t bound(std::size_t n) const override {
    return 1 + (blocks_of(n) * (32 + omega_bits(kBlock + 1)) + n * (2 + bits_of_most_)) / 8;
  }
  std::size_t expected(std::size_t n) const override {
    return static_cast<std::size_t>(bits_of_block_ / 8 * static_cast<double>(n) / kBlock) + 1;
  }
  bool unbiased() const override { return true; }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey& key) const override {
    require_room(*this, source, out);
    refuse_if_not_finite(largest_magnitude(source.values, width_), source.values);
    BitWriter to(out.data());
    const Draws draws(key);
    const std::size_t n = source.values.size();
    std::uint32_t codes[kBlock];
    for (std::size_t at = 0; at < n; at += kBlock) {
      const std::size_t m = std::min(kBlock, n - at);
      const float norm =
          qsgd_levels(source.values.data() + at, m, levels_, draws, at, width_, codes);
      to.put(bits_of(norm), 32);
      std::uint32_t count = 0;
      for (std::size_t i = 0; i < m; ++i) count += codes[i] > 1 ? 1U : 0U;
      to.put_omega(count + 1);
      std::uint32_t gap = 1;
      for (std::size_t i = 0; i < m; ++i, ++gap) {
        if (codes[i] < 2) continue;
        to.put_omega(gap);
        to.put(codes[i] & 1U, 1);
        to.put_omega(codes[i] >> 1U);
        gap = 0;
      }
    }
    return static_cast<std::size_t>(to.end() - out.data());
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    Reader bytes(in, "qsgd");
    BitReader from(bytes);
    std::uint32_t codes[kBlock];
    for (std::size_t at = 0; at < sum.size(); at += kBlock) {
      const std::size_t m = std::min(kBlock, sum.size() - at);
      const float norm = float_of(from.get(32));
      if (!is_finite(norm)) bytes.corrupt("it holds a norm that is not finite");
      std::fill_n(codes, m, 0U);
      std::uint32_t count = from.get_omega(static_cast<std::uint32_t>(m) + 1) - 1;
      for (std::size_t next = 0; count > 0; --count) {
        const std::uint32_t gap = from.get_omega(kBlock);
        if (next + gap > m) bytes.corrupt("a gap leads out of its block");
        next += gap;
        const std::uint32_t sign = from.get(1);
        codes[next - 1] = from.get_omega(levels_) << 1U | sign;
      }
      qsgd_add(codes, m, scale * (norm / static_cast<float>(levels_)), width_, sum.data() + at);
    }
    from.end();
  }

 private:
  static unsigned longest_level(std::uint32_t levels) {
    unsigned most = 0;
    for (std::uint32_t x = 1; x <= levels; ++x) most = std::max(most, omega_bits(x));
    return most;
  }

  // For normally distributed elements, whose norm is sqrt(512) standard deviations.
  double bits_of_normal_block() const {
    constexpr double kFine = 1e-3;
    const double levels_per_deviation = levels_ / std::sqrt(static_cast<double>(kBlock));
    double sent = 0;  // the chance of a level above 0
    double level_bits = 0;
    for (double z = kFine / 2; z < 6; z += kFine) {
      const double chance = kFine * std::sqrt(2 / std::numbers::pi) * std::exp(-z * z / 2);
      const double v = std::min(z * levels_per_deviation, static_cast<double>(levels_));
      const auto low = static_cast<std::uint32_t>(v);
      const double up = v - low;
      sent += chance * (low > 0 ? 1 : up);
      if (low > 0) level_bits += chance * (1 - up) * omega_bits(low);
      level_bits += chance * up * omega_bits(low + 1);
    }
    double gap_bits = 0;
    double chance = sent;
    for (std::uint32_t gap = 1; gap <= kBlock; ++gap, chance *= 1 - sent)
      gap_bits += chance * omega_bits(gap);
    const auto count = static_cast<std::uint32_t>(kBlock * sent);
    return 32 + omega_bits(count + 1) + kBlock * (sent * (gap_bits + 1) + level_bits);
  }

  std::uint32_t levels_;
  unsigned bits_of_most_;
  Width width_;
  double bits_of_block_ = 0;
};

}  // namespace

std::unique_ptr<Codec> make_qsgd_elias(std::uint32_t levels, Width width) {
  return std::make_unique<QsgdElias>(levels, width);
}

}  // namespace shoal
