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

#include <array>
#include <optional>

#include "base/wide.h"
#include "codec/codec.h"

namespace shoal {

// The smallest exponent that holds `largest`, which is at least 0 and finite.
int flexpoint_exponent(float largest);

// As the codec encodes, with an exponent from outside; returns the largest magnitude that it met,
// for the history. Writes 2 + 2 n bytes. DataError for NaN and infinity.
// REQUIRES: -149 <= exponent <= 113; `out` has the codec's bound.
float flexpoint_encode(std::span<const float> values, int exponent, std::span<std::byte> out,
                       Width width = widest());

// The largest magnitudes of a tensor in its last 16 steps. A plain value.
class ExponentHistory {
 public:
  // With room for twice the largest that is to be expected: the largest seen, or three standard
  // deviations above the mean where that is more. None before the first.
  std::optional<int> predict() const;
  // What an encoding with `exponent` met. An overflow makes all that was seen before worthless.
  void saw(float largest, int exponent);

 private:
  static constexpr std::size_t kWindow = 16;
  std::array<float, kWindow> seen_{};
  std::size_t count_ = 0;  // of all ever seen
};

}  // namespace shoal
