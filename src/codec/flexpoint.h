// flexpoint: 16 bits an element and one exponent for the piece, rounded to the nearest. Köster et
// al., "Flexpoint: an adaptive numerical format for efficient training of deep neural networks",
// NeurIPS 2017, arXiv:1711.02213.
//
// Written: the exponent, then 2 bytes an element. The error is at most half a step of 2^exponent,
// where nothing overflows; what does becomes the largest. The codec takes the exponent from the
// data and never overflows. The paper predicts it from what was seen before, which spares a pass: a
// caller that keeps an ExponentHistory for each tensor does so.
// Deviation: the prediction has no noise floor of its own, since the smallest step is a float's.
#pragma once

#include "codec/traits.h"

namespace shoal {

struct Flexpoint {
  static constexpr std::string_view kName = "flexpoint";
  static constexpr std::string_view kHelp = "16 bits, with one exponent per piece";
  static constexpr EncodingExamples kExamples = {.usual = "flexpoint"};

  constexpr EncodingTraits traits() const { return {}; }
  std::unique_ptr<Codec> make(Width width) const;
  bool operator==(const Flexpoint&) const = default;
};

}  // namespace shoal
