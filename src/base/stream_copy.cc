#include "base/stream_copy.h"

#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace shoal {

#ifdef __SSE2__

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLine = 64;
constexpr std::size_t kPages = 4;         // more streams than the processor tracks would not help
constexpr std::size_t kStep = 2 * kLine;  // bytes of one page, before the next page's turn

void stream_line(std::byte* to, const std::byte* from) {
  const auto* in = reinterpret_cast<const __m128i*>(from);
  auto* out = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(in);
  const __m128i b = _mm_loadu_si128(in + 1);
  const __m128i c = _mm_loadu_si128(in + 2);
  const __m128i d = _mm_loadu_si128(in + 3);
  _mm_stream_si128(out, a);
  _mm_stream_si128(out + 1, b);
  _mm_stream_si128(out + 2, c);
  _mm_stream_si128(out + 3, d);
}

}  // namespace

void stream_copy(std::byte* to, const std::byte* from, std::size_t size) {
  const std::size_t unaligned = -reinterpret_cast<std::uintptr_t>(to) % kLine;
  if (size < unaligned + kPages * kPage) {
    std::memcpy(to, from, size);
    return;
  }
  std::memcpy(to, from, unaligned);
  std::size_t at = unaligned;
  for (; at + kPages * kPage <= size; at += kPages * kPage) {
    for (std::size_t step = 0; step < kPage; step += kStep) {
      for (std::size_t page = 0; page < kPages; ++page) {
        const std::size_t here = at + page * kPage + step;
        for (std::size_t line = here; line < here + kStep; line += kLine)
          _mm_prefetch(reinterpret_cast<const char*>(from + line + kStep), _MM_HINT_T0);
        for (std::size_t line = here; line < here + kStep; line += kLine)
          stream_line(to + line, from + line);
      }
    }
  }
  for (; at + kLine <= size; at += kLine) stream_line(to + at, from + at);
  std::memcpy(to + at, from + at, size - at);
  _mm_sfence();  // non-temporal stores have no order, not even that of a release
}

#else

void stream_copy(std::byte* to, const std::byte* from, std::size_t size) {
  std::memcpy(to, from, size);
}

#endif

}  // namespace shoal
