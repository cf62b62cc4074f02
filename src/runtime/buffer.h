// Buffers to send from and to receive into. A phantom has a size but no bytes: timing-only runs
// move phantoms, so a model of full size costs its time but no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/types.h"

namespace shoal {

struct ConstBuf {
  const std::byte* data = nullptr;  // null: a phantom (or empty)
  Bytes size;

  bool phantom() const { return data == nullptr && size.value() > 0; }
  std::span<const std::byte> bytes() const { return {data, data == nullptr ? 0 : size.value()}; }
};

struct MutBuf {
  std::byte* data = nullptr;
  Bytes size;

  bool phantom() const { return data == nullptr && size.value() > 0; }
  std::span<std::byte> bytes() const { return {data, data == nullptr ? 0 : size.value()}; }
  operator ConstBuf() const { return {data, size}; }  // NOLINT(google-explicit-constructor)
};

// Copies the bytes; to or from a phantom it copies nothing. REQUIRES: from.size <= to.size.
inline void copy(ConstBuf from, MutBuf to) {
  if (from.data != nullptr && to.data != nullptr && from.size.value() > 0)
    std::memcpy(to.data, from.data, from.size.value());
}

inline bool overlap(ConstBuf a, ConstBuf b) {
  return a.data != nullptr && b.data != nullptr && a.data < b.data + b.size.value() &&
         b.data < a.data + a.size.value();
}

namespace detail {
template <class T>
inline constexpr bool kSpan = false;
template <class T, std::size_t N>
inline constexpr bool kSpan<std::span<T, N>> = true;
// A span is trivially copyable as well; the element type matters.
template <class T>
concept Plain = std::is_trivially_copyable_v<T> && !kSpan<T>;
}  // namespace detail

template <detail::Plain T>
ConstBuf const_buf(const T& object) {
  return {reinterpret_cast<const std::byte*>(&object), Bytes(sizeof(T))};
}
template <detail::Plain T>
MutBuf mut_buf(T& object) {
  return {reinterpret_cast<std::byte*>(&object), Bytes(sizeof(T))};
}
template <class T>
ConstBuf const_buf(std::span<T> items) {
  return {reinterpret_cast<const std::byte*>(items.data()), Bytes(items.size_bytes())};
}
template <class T>
MutBuf mut_buf(std::span<T> items) {
  return {reinterpret_cast<std::byte*>(items.data()), Bytes(items.size_bytes())};
}

}  // namespace shoal
