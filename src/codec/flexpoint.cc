#include "codec/flexpoint.h"

#include <algorithm>
#include <cfloat>

#include "codec/flexpoint_exponent.h"
#include "codec/pack.h"

namespace shoal {
namespace {

constexpr float kMost = 32767;
constexpr int kExponentLeast = -149;
constexpr int kExponentMost = 113;

// 2^exponent in two factors, since one alone may be beyond a float.
struct Factors {
  explicit Factors(int exponent)
      : first(std::ldexp(1.0F, exponent / 2)), second(std::ldexp(1.0F, exponent - exponent / 2)) {}
  float first;
  float second;
};

class FlexpointCodec final : public Codec {
 public:
  explicit FlexpointCodec(Width width) : width_(width) {}
  std::size_t bound(std::size_t n) const override { return 2 + 2 * n; }
  std::size_t expected(std::size_t n) const override { return bound(n); }

  std::size_t encode(const Source& source, std::span<std::byte> out,
                     const DrawKey&) const override {
    require_room(*this, source, out);
    const std::uint32_t top = largest_magnitude(source.values, width_);
    refuse_if_not_finite(top, source.values);
    flexpoint_encode(source.values, flexpoint_exponent(float_of(top)), out, width_);
    return bound(source.values.size());
  }

  void decode_add(std::span<const std::byte> in, std::span<float> sum, float scale) const override {
    Reader from(in, "flexpoint");
    from.require(bound(sum.size()));
    const int exponent = from.get<std::int16_t>();
    if (exponent < kExponentLeast || exponent > kExponentMost)
      from.corrupt(fmt::format("its exponent is {}", exponent));
    const float step = std::ldexp(1.0F, exponent);
    const std::byte* const mantissas = from.take(2 * sum.size());
    float* const to = sum.data();
    run_wide(width_, sum.size(), [=](std::size_t n) SHOAL_INLINE {
      for (std::size_t i = 0; i < n; ++i) {
        std::int16_t mantissa;
        std::memcpy(&mantissa, mantissas + 2 * i, 2);
        to[i] += scale * (static_cast<float>(mantissa) * step);
      }
    });
  }

 private:
  Width width_;
};

}  // namespace

int flexpoint_exponent(float largest) {
  SHOAL_CHECK(is_finite(largest) && largest >= 0, "a largest magnitude of {}", largest);
  if (largest == 0) return kExponentLeast;
  int power = 0;
  const float part = std::frexp(largest, &power);  // from 0.5 to 1
  // Rounded, the mantissa may just not fit.
  const int exponent = power - 15 + (part * 32768 >= kMost + 0.5F ? 1 : 0);
  return std::clamp(exponent, kExponentLeast, kExponentMost);
}

float flexpoint_encode(std::span<const float> values, int exponent, std::span<std::byte> out,
                       Width width) {
  SHOAL_CHECK(exponent >= kExponentLeast && exponent <= kExponentMost, "{}", exponent);
  SHOAL_CHECK_GE(out.size(), 2 + 2 * values.size());
  Writer writer(out);
  writer.put(static_cast<std::int16_t>(exponent));
  const Factors up(-exponent);
  const float* const x = values.data();
  std::byte* const to = writer.skip(2 * values.size());
  std::uint32_t largest = 0;
  run_wide(width, values.size(), [=, &largest](std::size_t n) SHOAL_INLINE {
    // Adding and taking away this rounds to whole numbers, ties to even.
    constexpr float kRound = 0x1.8p23F;
    std::uint32_t top = 0;
    std::int16_t mantissas[kBlock];
    for (std::size_t at = 0; at < n; at += kBlock) {
      const std::size_t m = std::min(kBlock, n - at);
      for (std::size_t i = 0; i < m; ++i) {
        top = std::max(top, magnitude(x[at + i]));
        const float v = std::clamp(x[at + i] * up.first * up.second, -kMost, kMost);
        mantissas[i] = static_cast<std::int16_t>(v + kRound - kRound);
      }
      std::memcpy(to + 2 * at, mantissas, 2 * m);
    }
    largest = top;
  });
  refuse_if_not_finite(largest, values);
  return float_of(largest);
}

std::optional<int> ExponentHistory::predict() const {
  const std::size_t n = std::min(count_, kWindow);
  if (n == 0) return std::nullopt;
  double sum = 0;
  double squares = 0;
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = seen_[i];
    sum += x;
    squares += x * x;
    most = std::max(most, x);
  }
  const double count = static_cast<double>(n);
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean));
  const double room = 2 * std::max(most, mean + 3 * deviation);
  return flexpoint_exponent(static_cast<float>(std::min(room, static_cast<double>(FLT_MAX))));
}

void ExponentHistory::saw(float largest, int exponent) {
  const double most = std::ldexp(static_cast<double>(kMost) + 0.5, exponent);
  if (static_cast<double>(largest) >= most) count_ = 0;
  seen_[count_ % kWindow] = largest;
  ++count_;
}

std::unique_ptr<Codec> Flexpoint::make(Width width) const {
  return std::make_unique<FlexpointCodec>(width);
}

}  // namespace shoal
