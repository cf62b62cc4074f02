#include "codec/adacomp.h"

#include <algorithm>

#include "codec/signs.h"

namespace shoal {
namespace {

class AdacompCodec final : public Signs {
 public:
  AdacompCodec(std::uint32_t bin, Width width)
      : Signs("adacomp", std::min(0.5, 5.0 / bin), width), bin_(bin) {}

 private:
  Choice choose(const Source& source) const override {
    const std::span<const float> values = source.values;
    SHOAL_CHECK_EQ(source.latest.size(), values.size());
    Choice choice;
    double sum = 0;
    for (std::size_t from = 0; from < values.size(); from += bin_) {
      const std::size_t n = std::min<std::size_t>(bin_, values.size() - from);
      const std::uint32_t top = largest_magnitude(values.subspan(from, n), width_);
      refuse_if_not_finite(top, values);
      sum += static_cast<double>(float_of(top));
      for (std::size_t i = from; top > 0 && i < from + n; ++i) {
        const std::uint32_t soon = magnitude(values[i] + source.latest[i]);
        if (soon >= top && magnitude(values[i]) > 0)
          choice.at.push_back(static_cast<std::uint32_t>(i));
      }
    }
    const std::size_t bins = (values.size() + bin_ - 1) / bin_;
    choice.plus = static_cast<float>(sum / static_cast<double>(std::max<std::size_t>(1, bins)));
    choice.minus = -choice.plus;
    return choice;
  }

  std::uint32_t bin_;
};

}  // namespace

std::unique_ptr<Codec> Adacomp::make(Width width) const {
  return std::make_unique<AdacompCodec>(bin, width);
}

}  // namespace shoal
