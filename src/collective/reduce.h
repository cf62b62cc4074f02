// The one loop of reductions.
#pragma once

#include <span>

namespace shoal {

// a += b. REQUIRES: a.size() == b.size(); they do not overlap.
inline void add(std::span<float> a, std::span<const float> b) {
  float* __restrict to = a.data();
  const float* __restrict from = b.data();
  for (std::size_t i = 0; i < a.size(); ++i) to[i] += from[i];
}

}  // namespace shoal
