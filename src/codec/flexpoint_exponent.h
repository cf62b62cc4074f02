// The exponent of flexpoint (codec/flexpoint.h), for callers that predict it from earlier steps.
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
  // The exponent with room for twice the expected largest magnitude: the largest seen, or three
  // standard deviations above the mean where that is more. None before the first.
  std::optional<int> predict() const;
  // Adds the largest magnitude of an encoding with `exponent`. An overflow discards the history.
  void saw(float largest, int exponent);

 private:
  static constexpr std::size_t kWindow = 16;
  std::array<float, kWindow> seen_{};
  std::size_t count_ = 0;  // of all ever seen
};

}  // namespace shoal
