// GapMeter: derives the timeout of a silence from the observed gaps between heartbeats.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/types.h"

namespace shoal {

// Thread safety: none.
class GapMeter {
 public:
  explicit GapMeter(Time now) : last_(now) {}

  void heard(Time now) {
    gaps_[count_++ % gaps_.size()] = now - last_;
    last_ = now;
  }
  // After a silence that counted as loss, which is not a gap between two heartbeats.
  void heard_again(Time now) { last_ = now; }
  // The listener itself was away for this long, so it is not the others' silence.
  void forgive(Duration absence) { last_ += absence; }
  Time last() const { return last_; }

  // max(floor, 10 x the p99 gap of the last 128). A single outlier does not change this p99.
  Duration patience(Duration floor) const {
    const std::size_t n = std::min(count_, gaps_.size());
    if (n < kEnough) return floor;
    std::array<Duration, kKept> sorted = gaps_;
    const auto second = sorted.begin() + static_cast<std::ptrdiff_t>(n) - 2;
    std::nth_element(sorted.begin(), second, sorted.begin() + static_cast<std::ptrdiff_t>(n));
    return std::max(floor, *second * 10);
  }

 private:
  static constexpr std::size_t kKept = 128;
  static constexpr std::size_t kEnough = 20;
  std::array<Duration, kKept> gaps_{};
  std::size_t count_ = 0;
  Time last_;
};

}  // namespace shoal
