// dorefa: one of 2^k levels between -max and max, after noise of up to half a level. Zhou et al.,
// "DoReFa-Net: training low bitwidth convolutional neural networks with low bitwidth gradients",
// 2016, arXiv:1606.06160, for gradients alone.
//
// Written: max, then k bits an element, rounded up to 1, 2, 4, 8 or 16. The noise makes rounding a
// matter of chance, with mean error 0, at both ends as well, where the paper's clipping would cut
// half of it off if it were not exactly as wide as it is. There is no level for 0.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Dorefa {
  static constexpr std::string_view kName = "dorefa";
  static constexpr std::string_view kHelp =
      "one of 2^bits levels between minus and plus the largest magnitude, rounded at random";
  static constexpr EncodingExamples kExamples = {.usual = "dorefa:4", .bench_target = 0.5};
  std::uint32_t bits = 4;

  static constexpr auto parameters() {
    return std::tuple{Parameter{"bits", &Dorefa::bits, "bits per element", {1, 16}}};
  }
  constexpr EncodingTraits traits() const {
    return {.draws = true,
            .overshoots = true,
            .no_residual =
                "the error of dorefa may exceed its input if one element is far larger than the "
                "others, so that the residual of +ef would grow without bound. Its mean error is 0 "
                "without +ef; or take onebit+ef"};
  }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Dorefa&) const = default;
};

}  // namespace shoal
