#include "codec/bytes.h"

#include <algorithm>

namespace shoal {

std::uint32_t largest_magnitude(std::span<const float> values, Width width) {
  std::uint32_t largest = 0;
  run_wide(width, values.size(), [x = values.data(), &largest](std::size_t n) SHOAL_INLINE {
    std::uint32_t top = 0;
    for (std::size_t i = 0; i < n; ++i) top = std::max(top, magnitude(x[i]));
    largest = top;
  });
  return largest;
}

double sum_of_squares(std::span<const float> values, Width width) {
  double sum = 0;
  run_wide(width, values.size(), [x = values.data(), &sum](std::size_t n) SHOAL_INLINE {
    Lanes lanes;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (std::size_t j = 0; j < kLanes; ++j) lanes.add_square(j, x[i + j]);
    for (std::size_t j = 0; i < n; ++i, ++j) lanes.add_square(j, x[i]);
    sum = lanes.total();
  });
  return sum;
}

void refuse_if_not_finite(std::uint32_t largest, std::span<const float> values) {
  if (largest < kInfinityBits) [[likely]]
    return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_finite(values[i])) continue;
    throw DataError(
        fmt::format("element {} of {} to send is {}, which no encoding can represent; is the "
                    "learning rate too large, or a sample broken?",
                    i, values.size(), values[i]));
  }
}

}  // namespace shoal
