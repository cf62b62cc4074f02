// Copies memory that is too large for the caches, around them.
#pragma once

#include <cstddef>
#include <cstring>

namespace shoal {

// Payloads from here on: what follows would find nothing of them in a cache anyway.
inline constexpr std::size_t kStreamFrom = 8U << 20U;

// As memcpy. Copied in slices, a large range is copied by memcpy at half the speed it reaches in
// one piece, where it uses stores that bypass the caches and several pages at once; so does this.
// Everything is visible to other processors, in order, when it returns.
void stream_copy(std::byte* to, const std::byte* from, std::size_t size);

// A slice of a payload that has `whole` bytes.
inline void copy_slice(std::byte* to, const std::byte* from, std::size_t size, std::size_t whole) {
  if (whole >= kStreamFrom) return stream_copy(to, from, size);
  std::memcpy(to, from, size);
}

}  // namespace shoal
