// Copies memory larger than the caches, bypassing them.
#pragma once

#include <cstddef>
#include <cstring>

namespace shoal {

// The smallest payload that is copied this way: little of it would stay in a cache.
inline constexpr std::size_t kStreamFrom = 8U << 20U;

// Like memcpy. In one piece, memcpy uses stores that bypass the caches and several pages at once;
// in slices it reaches half of that speed. This function copies slices at the full speed. On return
// everything is visible to other processors, in order.
void stream_copy(std::byte* to, const std::byte* from, std::size_t size);

// Copies a slice of a payload of `whole` bytes.
inline void copy_slice(std::byte* to, const std::byte* from, std::size_t size, std::size_t whole) {
  if (whole >= kStreamFrom) return stream_copy(to, from, size);
  std::memcpy(to, from, size);
}

}  // namespace shoal
