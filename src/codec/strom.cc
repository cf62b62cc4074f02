// strom: theta or -theta for every element that reaches it. Strom, "Scalable distributed DNN
// training using commodity GPU cloud computing", Interspeech 2015. The rest is kept.
//
// How many are sent depends on the gradients alone; expected() takes it for one in a hundred.
#include <algorithm>

#include "codec/codecs.h"
#include "codec/signs.h"

namespace shoal {
namespace {

class Strom final : public Signs {
 public:
  Strom(float theta, Width width) : Signs("strom", 0.01, width), theta_(theta) {}

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

std::unique_ptr<Codec> make_strom(double theta, Width width) {
  return std::make_unique<Strom>(static_cast<float>(theta), width);
}

}  // namespace shoal
