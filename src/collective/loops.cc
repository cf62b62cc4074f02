#include <algorithm>
#include <cstdint>

#include "collective/reduce.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace shoal {
namespace {

// Elements added at a time: the running sum stays in the nearest cache.
constexpr std::size_t kBlock = 1024;

void add_two(float* __restrict to, const float* a, const float* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = a[i] + b[i];
}

// add_two for the case that `to` is a or b: the same loop, but the compiler may assume the overlap.
void add_two_in_place(float* to, const float* a, const float* b, std::size_t n) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < n; ++i) to[i] = a[i] + b[i];
}

#ifdef __SSE2__
void add_two_streamed(float* to, const float* a, const float* b, std::size_t n) {
  constexpr std::size_t kLine = 16;
  std::size_t i = 0;
  for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % 64 != 0; ++i) to[i] = a[i] + b[i];
  for (; i + kLine <= n; i += kLine) {
    const __m128 s0 = _mm_add_ps(_mm_loadu_ps(a + i), _mm_loadu_ps(b + i));
    const __m128 s1 = _mm_add_ps(_mm_loadu_ps(a + i + 4), _mm_loadu_ps(b + i + 4));
    const __m128 s2 = _mm_add_ps(_mm_loadu_ps(a + i + 8), _mm_loadu_ps(b + i + 8));
    const __m128 s3 = _mm_add_ps(_mm_loadu_ps(a + i + 12), _mm_loadu_ps(b + i + 12));
    _mm_stream_ps(to + i, s0);
    _mm_stream_ps(to + i + 4, s1);
    _mm_stream_ps(to + i + 8, s2);
    _mm_stream_ps(to + i + 12, s3);
  }
  for (; i < n; ++i) to[i] = a[i] + b[i];
}
void end_stream() { _mm_sfence(); }  // Streaming stores are unordered, even against a release.
#else
void add_two_streamed(float* to, const float* a, const float* b, std::size_t n) {
  add_two(to, a, b, n);
}
void end_stream() {}
#endif

}  // namespace

void add(std::span<float> a, std::span<const float> b) {
  float* __restrict to = a.data();
  const float* __restrict from = b.data();
  for (std::size_t i = 0; i < a.size(); ++i) to[i] += from[i];
}

void sum(std::span<float> out, std::span<const float* const> terms, WriteMode mode) {
  const std::size_t n = out.size();
  if (n == 0 || terms.empty()) return;
  if (terms.size() == 1) {
    if (terms[0] != out.data()) std::copy_n(terms[0], n, out.data());
    return;
  }
  float so_far[kBlock];
  for (std::size_t at = 0; at < n; at += kBlock) {
    const std::size_t count = std::min(kBlock, n - at);
    const float* first = terms[0] + at;
    for (std::size_t k = 1; k + 1 < terms.size(); ++k) {
      if (k == 1) {
        add_two(so_far, first, terms[k] + at, count);
      } else {
        add({so_far, count}, {terms[k] + at, count});
      }
      first = so_far;
    }
    const float* last = terms.back() + at;
    if (mode == WriteMode::Streamed) {
      add_two_streamed(out.data() + at, first, last, count);
    } else {
      add_two_in_place(out.data() + at, first, last, count);
    }
  }
  if (mode == WriteMode::Streamed) end_stream();
}

}  // namespace shoal
