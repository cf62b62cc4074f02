// terngrad: -s, 0 or s, where the chance of not being 0 is |g| / s. Wen et al., "TernGrad: ternary
// gradients to reduce communication in distributed deep learning", NeurIPS 2017, arXiv:1705.07878.
//
// The piece is clipped at 2.5 standard deviations first; s is its largest magnitude then. Written:
// s and 2 bits an element. The mean of what is decoded is the clipped piece. Where all workers are
// to use one s, they exchange terngrad_scale and take the largest (scale sharing of the paper).
// Deviation: deviations are from 0, not from the mean, which would clip equal elements to nothing.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Terngrad {
  static constexpr std::string_view kName = "terngrad";
  static constexpr std::string_view kHelp =
      "-s, 0 or s, rounded at random; s: the largest magnitude of the piece";
  static constexpr EncodingExamples kExamples = {.usual = "terngrad", .bench_target = 0.5};

  constexpr EncodingTraits traits() const {
    return {.draws = true,
            .overshoots = true,
            .no_residual =
                "the error of terngrad may exceed its input if one element is far larger than the "
                "others, so that the residual of +ef would grow without bound. Its mean error is 0 "
                "without +ef; or take onebit+ef"};
  }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Terngrad&) const = default;
};

}  // namespace shoal
