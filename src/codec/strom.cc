#include "codec/strom.h"

#include <algorithm>

#include "codec/signs.h"

namespace shoal {
namespace {

class StromCodec final : public Signs {
 public:
  StromCodec(float theta, Width width) : Signs("strom", 0.01, width), theta_(theta) {}

 private:
  Choice choose(const Source& source) const override {
    Choice choice{.plus = theta_, .minus = -theta_};
    collect(source.values, bits_of(theta_), width_, choice.at);
    std::uint32_t top = 0;
    for (const std::uint32_t place : choice.at)
      top = std::max(top, magnitude(source.values[place]));
    refuse_if_not_finite(top, source.values);
    return choice;
  }

  float theta_;
};

}  // namespace

std::unique_ptr<Codec> Strom::make(Width width) const {
  return std::make_unique<StromCodec>(static_cast<float>(theta), width);
}

}  // namespace shoal
