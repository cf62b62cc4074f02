#include "codec/bytes.h"

namespace shoal {

void refuse_if_not_finite(std::uint32_t largest, std::span<const float> values) {
  if (largest < kInfinityBits) [[likely]]
    return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_finite(values[i])) continue;
    throw DataError(fmt::format(
        "element {} of {} that are to be sent is {}, which no encoding can hold; is the step too "
        "long, or a sample broken?",
        i, values.size(), values[i]));
  }
}

}  // namespace shoal
