#include "codec/dryden.h"

#include <algorithm>

#include "codec/signs.h"

namespace shoal {
namespace {

struct Counts {
  std::size_t of[2];  // not zero, by sign
};

Counts count_signs(std::span<const float> values, Width width) {
  std::uint64_t plus = 0;
  std::uint64_t minus = 0;
  run_wide(width, values.size(), [x = values.data(), &plus, &minus](std::size_t n) SHOAL_INLINE {
    std::uint32_t positive = 0;
    std::uint32_t negative = 0;
    for (std::size_t i = 0; i < n; ++i) {
      positive += x[i] > 0 ? 1U : 0U;
      negative += x[i] < 0 ? 1U : 0U;
    }
    plus = positive;
    minus = negative;
  });
  return {{plus, minus}};
}

class DrydenCodec final : public Signs {
 public:
  DrydenCodec(double ratio, Width width) : Signs("dryden", ratio, width), ratio_(ratio) {}

 private:
  // The elements of one sign.
  struct Side {
    std::vector<std::uint32_t> sample{};
    Places at{};
    std::vector<std::uint32_t> keys{};
    std::size_t k = 0;
  };

  Choice choose(const Source& source) const override {
    const std::span<const float> values = source.values;
    const Counts counts = count_signs(values, width_);
    Side sides[2];
    for (unsigned sign = 0; sign < 2; ++sign) sides[sign].k = count_of(ratio_, counts.of[sign]);
    for (const std::uint32_t place : detail::sample_of(values.size()))
      sides[bits_of(values[place]) >> 31U].sample.push_back(magnitude(values[place]));
    for (unsigned attempt = 0;; ++attempt) {
      std::uint32_t threshold[2];
      for (unsigned sign = 0; sign < 2; ++sign)
        threshold[sign] = detail::estimate_threshold(sides[sign].sample, ratio_, attempt);
      if (gather(values, threshold, sides)) break;
    }
    for (Side& side : sides) detail::keep_largest(side.at, side.keys, side.k);
    return {.at = merged(sides[0].at, sides[1].at),
            .plus = mean(values, sides[0].at),
            .minus = mean(values, sides[1].at)};
  }

  // Whether enough of both signs reach their thresholds, or all that there are.
  bool gather(std::span<const float> values, const std::uint32_t (&threshold)[2],
              Side (&sides)[2]) const {
    Places at;
    collect_both(values, threshold[0], threshold[1], width_, at);
    for (Side& side : sides) {
      side.at.clear();
      side.keys.clear();
    }
    std::uint32_t top = 0;
    for (const std::uint32_t place : at) {
      Side& side = sides[bits_of(values[place]) >> 31U];
      side.at.push_back(place);
      side.keys.push_back(magnitude(values[place]));
      top = std::max(top, side.keys.back());
    }
    refuse_if_not_finite(top, values);
    return (sides[0].at.size() >= sides[0].k || threshold[0] == 1) &&
           (sides[1].at.size() >= sides[1].k || threshold[1] == 1);
  }

  static Places merged(const Places& a, const Places& b) {
    Places both(a.size() + b.size());
    std::ranges::merge(a, b, both.begin());
    return both;
  }

  static float mean(std::span<const float> values, const Places& at) {
    double sum = 0;
    for (const std::uint32_t place : at) sum += static_cast<double>(values[place]);
    return at.empty() ? 0.0F : static_cast<float>(sum / static_cast<double>(at.size()));
  }

  double ratio_;
};

}  // namespace

std::unique_ptr<Codec> Dryden::make(Width width) const {
  return std::make_unique<DrydenCodec>(ratio, width);
}

}  // namespace shoal
