#include "codec/select.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "codec/bytes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace shoal {
namespace {

constexpr std::size_t kSample = 16384;
constexpr std::size_t kGroup = 32;     // elements whose masks are one word
constexpr std::size_t kStretch = 128;  // groups that are looked at before places are written

struct Limits {
  std::uint32_t above;  // bits of positive floats
  std::uint32_t below;
};

SHOAL_INLINE inline bool reaches(float x, Limits limits) {
  return magnitude(x) >= (bits_of(x) >> 31U == 0 ? limits.above : limits.below);
}

// Bit j of masks[g]: element 32 g + j reaches the limit of its sign.
void masks_plain(const float* x, std::size_t groups, Limits limits, std::uint32_t* masks) {
  for (std::size_t g = 0; g < groups; ++g) {
    std::uint32_t mask = 0;
    for (unsigned j = 0; j < kGroup; ++j)
      mask |= (reaches(x[g * kGroup + j], limits) ? 1U : 0U) << j;
    masks[g] = mask;
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void masks_avx2(const float* x, std::size_t groups, Limits limits,
                                                std::uint32_t* masks) {
  // Reached is what is larger than the limit less one; without their sign, bits compare like
  // signed numbers.
  const __m256 above = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(limits.above - 1)));
  const __m256 below = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(limits.below - 1)));
  const __m256 unsign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
  for (std::size_t g = 0; g < groups; ++g) {
    std::uint32_t mask = 0;
    for (unsigned j = 0; j < kGroup; j += 8) {
      const __m256 eight = _mm256_loadu_ps(x + g * kGroup + j);
      const __m256 limit = _mm256_blendv_ps(above, below, eight);  // by the sign bit
      const __m256i reached = _mm256_cmpgt_epi32(_mm256_castps_si256(_mm256_and_ps(eight, unsign)),
                                                 _mm256_castps_si256(limit));
      mask |= static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(reached))) << j;
    }
    masks[g] = mask;
  }
}
#endif

void masks_of(const float* x, std::size_t groups, Limits limits, Width width,
              std::uint32_t* masks) {
#if defined(__x86_64__)
  if (width == Width::Avx2) return masks_avx2(x, groups, limits, masks);
#endif
  static_cast<void>(width);
  masks_plain(x, groups, limits, masks);
}

// before(from, to) is called before these elements are looked at.
template <class Before>
void collect_within(std::span<const float> values, Limits limits, Width width, Places& at,
                    const Before& before) {
  std::uint32_t masks[kStretch];
  std::size_t count = 0;
  const std::size_t groups = values.size() / kGroup;
  for (std::size_t first = 0; first < groups; first += kStretch) {
    const std::size_t here = std::min(kStretch, groups - first);
    before(first * kGroup, (first + here) * kGroup);
    masks_of(values.data() + first * kGroup, here, limits, width, masks);
    if (at.size() < count + here * kGroup) at.resize(2 * count + kStretch * kGroup);
    std::uint32_t* to = at.data() + count;
    for (std::size_t g = 0; g < here; ++g) {
      const auto base = static_cast<std::uint32_t>((first + g) * kGroup);
      for (std::uint32_t mask = masks[g]; mask != 0; mask &= mask - 1)
        *to++ = base + static_cast<std::uint32_t>(std::countr_zero(mask));
    }
    count = static_cast<std::size_t>(to - at.data());
  }
  at.resize(count);
  before(groups * kGroup, values.size());
  for (std::size_t i = groups * kGroup; i < values.size(); ++i)
    if (reaches(values[i], limits)) at.push_back(static_cast<std::uint32_t>(i));
}

constexpr auto kNothing = [](std::size_t, std::size_t) {};

}  // namespace

void collect(std::span<const float> values, std::uint32_t threshold, Width width, Places& at) {
  collect_within(values, {threshold, threshold}, width, at, kNothing);
}

void collect_both(std::span<const float> values, std::uint32_t above, std::uint32_t below,
                  Width width, Places& at) {
  collect_within(values, {above, below}, width, at, kNothing);
}

namespace detail {

Places sample_of(std::size_t n) {
  const std::size_t count = std::min(n, std::clamp(n / 16, kSample / 16, kSample));
  Places at(count);
  for (std::size_t s = 0; s < count; ++s) {
    const std::uint64_t from = s * std::uint64_t{n} / count;
    const std::uint64_t to = (s + 1) * std::uint64_t{n} / count;
    // Not the same place of each part: rows of a matrix would be seen in one column only.
    const std::uint64_t jitter = (s * 0x9e37'79b9'7f4a'7c15ULL) >> 40U;
    at[s] = static_cast<std::uint32_t>(from + jitter % (to - from));
  }
  return at;
}

std::uint32_t estimate_threshold(std::span<std::uint32_t> keys, double part, unsigned attempt) {
  const double hits = part * static_cast<double>(keys.size());
  // Three standard deviations more than needed; then twice as many with each attempt.
  const double wanted = (hits + 3 * std::sqrt(hits) + 2) * std::exp2(attempt);
  if (attempt > 3 || wanted >= static_cast<double>(keys.size())) return 1;
  const auto nth = keys.begin() + static_cast<std::ptrdiff_t>(wanted);
  std::nth_element(keys.begin(), nth, keys.end(), std::greater<>());
  return std::clamp(*nth, 1U, kInfinityBits);
}

void keep_largest(Places& at, std::span<const std::uint32_t> keys, std::size_t k) {
  if (at.size() <= k) return;
  std::vector<std::uint32_t> sorted(keys.begin(), keys.end());
  const auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(sorted.begin(), nth, sorted.end(), std::greater<>());
  const std::uint32_t least = *nth;
  auto equal = static_cast<std::size_t>(std::count(sorted.begin(), nth + 1, least));
  std::size_t kept = 0;
  for (std::size_t j = 0; j < at.size(); ++j) {
    if (keys[j] < least || (keys[j] == least && equal == 0)) continue;
    if (keys[j] == least) --equal;
    at[kept++] = at[j];
  }
  at.resize(kept);
}

}  // namespace detail

namespace {

// value(i) is values[i] already before `before` was called for it.
template <class Value, class Before>
Places largest_of(std::span<const float> values, std::size_t k, Width width, const Value& value,
                  const Before& before) {
  Places at;
  if (k == 0) return at;
  std::vector<std::uint32_t> sample;
  for (const std::uint32_t place : detail::sample_of(values.size()))
    sample.push_back(magnitude(value(place)));
  const double part = static_cast<double>(k) / static_cast<double>(values.size());
  std::uint32_t threshold = detail::estimate_threshold(sample, part, 0);
  collect_within(values, {threshold, threshold}, width, at, before);
  for (unsigned attempt = 1; at.size() < k && threshold > 1; ++attempt) {
    threshold = detail::estimate_threshold(sample, part, attempt);
    collect(values, threshold, width, at);
  }
  std::vector<std::uint32_t> keys(at.size());
  std::uint32_t top = 0;
  for (std::size_t j = 0; j < at.size(); ++j) {
    keys[j] = magnitude(values[at[j]]);
    top = std::max(top, keys[j]);
  }
  refuse_if_not_finite(top, values);
  detail::keep_largest(at, keys, k);
  return at;
}

}  // namespace

Places largest(std::span<const float> values, std::size_t k, Width width) {
  return largest_of(
      values, k, width, [&](std::size_t i) { return values[i]; }, kNothing);
}

Places largest_of_sum(std::span<const float> a, std::span<const float> b, std::span<float> sum,
                      std::size_t k, Width width) {
  const auto add = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) sum[i] = a[i] + b[i];
  };
  return largest_of(
      sum, k, width, [&](std::size_t i) { return a[i] + b[i]; }, add);
}

std::size_t count_of(double ratio, std::size_t n) {
  if (n == 0) return 0;
  const double k = std::round(ratio * static_cast<double>(n));
  return std::clamp<std::size_t>(static_cast<std::size_t>(k), 1, n);
}

}  // namespace shoal
