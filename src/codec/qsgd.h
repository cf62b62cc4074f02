// Limits of qsgd (qsgd.cc), which an Encoding must keep.
#pragma once

#include <cstdint>

namespace shoal {

inline constexpr std::uint32_t kQsgdLevelsMost = 32767;
// The error of a block of 512 is at most sqrt(512) / levels of its norm, squared: from here on less
// than all of it.
inline constexpr std::uint32_t kQsgdLevelsWithRest = 23;

}  // namespace shoal
