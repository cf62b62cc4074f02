// Private to src/codec: which elements are large, in one pass over the piece.
//
// A threshold is estimated from a sample of at most kSample elements, one of each part of the
// piece, a little too low on purpose; what reaches it is collected, and of these few the exact k
// are taken. Where the estimate was too high after all, it is lowered and the pass repeated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/wide.h"

namespace shoal {

// Places of elements, rising.
using Places = std::vector<std::uint32_t>;

// All x with magnitude(x) >= threshold; NaN and infinity are always among them.
void collect(std::span<const float> values, std::uint32_t threshold, Width width, Places& at);

// All x >= above and all x <= -below, as bits of positive floats; NaN and infinity as well.
void collect_both(std::span<const float> values, std::uint32_t above, std::uint32_t below,
                  Width width, Places& at);

// The k largest in magnitude; of equal ones those that come first; fewer where fewer are not zero.
// DataError for NaN and infinity.
Places largest(std::span<const float> values, std::size_t k, Width width);

// The same of a + b, which is left in `sum`. REQUIRES: k > 0 unless they are empty.
Places largest_of_sum(std::span<const float> a, std::span<const float> b, std::span<float> sum,
                      std::size_t k, Width width);

// The number of elements that `ratio` selects from n, rounded, at least 1. REQUIRES: 0 < ratio <=
// 1.
std::size_t count_of(double ratio, std::size_t n);

namespace detail {
// Bits of a positive float that about `part` of `keys` reach, rather too low than too high: with
// each try lower. At least 1, so that no zero does. Reorders the keys.
std::uint32_t estimate_threshold(std::span<std::uint32_t> keys, double part, unsigned attempt);
// Keeps the k largest of `keys`, which belong to `at`; of equal ones the first.
void keep_largest(Places& at, std::span<const std::uint32_t> keys, std::size_t k);
// Positions of a sample: one from each part of n elements.
Places sample_of(std::size_t n);
}  // namespace detail

}  // namespace shoal
