// Compiles a loop over elements for several vector widths and runs it with the widest of the
// machine. All widths give the same bits: loops use only +, -, *, /, sqrt and std::fma, which IEEE
// 754 defines to the last bit, and sums over a fixed number of lanes.
//
// The tree is compiled for any x86-64. A loop is therefore a function object that is inlined into
// one function per width, and only these functions name the instructions they need (target_clones
// would be shorter, but its resolvers run before the sanitizers are ready, and tests could not
// choose). There is no AVX-512 version, because memory is the limit; it measured the same. Note:
// without an FMA instruction std::fma is a call of libm, exact but slow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shoal {

enum class Width : std::uint8_t { Plain, Avx2 };

#if defined(__x86_64__)
#define SHOAL_TARGET(isa) __attribute__((target(isa), flatten))
#else
#define SHOAL_TARGET(isa)
#endif
// Goes behind the parameters of a lambda passed to run_wide.
#define SHOAL_INLINE __attribute__((always_inline))

// Goes before a loop whose stores do not alias its later loads; with many arrays no compiler can
// prove this.
#if defined(__clang__)
#define SHOAL_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define SHOAL_APART _Pragma("GCC ivdep")
#endif

// The widest width of this machine.
inline Width widest() {
#if defined(__x86_64__)
  static const bool avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return avx2 ? Width::Avx2 : Width::Plain;
#else
  return Width::Plain;
#endif
}

namespace detail {

template <class Loop>
void run_plain(const Loop& loop, std::size_t n) {
  loop(n);
}
template <class Loop>
SHOAL_TARGET("avx2,fma")
void run_avx2(const Loop& loop, std::size_t n) {
  loop(n);
}

}  // namespace detail

// Runs loop(n). REQUIRES: width is at most widest().
template <class Loop>
void run_wide(Width width, std::size_t n, const Loop& loop) {
  if (width == Width::Avx2) return detail::run_avx2(loop, n);
  detail::run_plain(loop, n);
}

// A sum of squares in double precision, in the same order for every width: element i of a loop goes
// to lane i % kLanes.
inline constexpr std::size_t kLanes = 32;
struct Lanes {
  double lane[kLanes] = {};

  SHOAL_INLINE void add_square(std::size_t j, float x) {
    lane[j] += static_cast<double>(x) * static_cast<double>(x);  // the product is exact
  }
  SHOAL_INLINE double total() const {
    double sum = 0;
    for (const double x : lane) sum += x;
    return sum;
  }
};

// Prefetches the kLanes floats that the loop will reach a page later. Loops that only read wait for
// memory the most, and the hardware prefetcher stops at the end of each page.
SHOAL_INLINE inline void fetch_ahead(const float* x) {
  __builtin_prefetch(x + 1024);
  __builtin_prefetch(x + 1024 + kLanes / 2);
}

}  // namespace shoal
