// dryden: the largest part of the positive elements, sent as their mean, and the same part of the
// negative ones. Dryden, Jacobs, Moon, Van Essen, "Communication quantization for data-parallel
// training of deep neural networks", MLHPC 2016, doi:10.1109/MLHPC.2016.004. The residual is kept.
//
// The thresholds tau+ and tau- are the least that was sent of either sign.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Dryden {
  static constexpr std::string_view kName = "dryden";
  static constexpr std::string_view kHelp =
      "the largest elements of each sign, each as the mean of those of its sign";
  static constexpr EncodingExamples kExamples = {.usual = "dryden:0.01", .bench_target = 1.5};
  double ratio = 0.01;

  static constexpr auto parameters() {
    return std::tuple{
        Parameter{"ratio", &Dryden::ratio, "the fraction of elements that is sent", kRatios}};
  }
  constexpr EncodingTraits traits() const {
    return {
        .lists = true, .overshoots = true, .mix_rate = mix_rate_of(ratio), .needs_residual = true};
  }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Dryden&) const = default;
};

}  // namespace shoal
