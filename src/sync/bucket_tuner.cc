#include "sync/bucket_tuner.h"

#include <algorithm>

#include "base/check.h"

namespace shoal {
namespace {

// Steps of each size: first those that overlap with the size before, then those that count.
constexpr std::size_t kSettling = 2;
constexpr std::size_t kCounting = 9;

}  // namespace

BucketTuner::BucketTuner(Bytes smallest, Bytes whole) {
  SHOAL_CHECK_GT(smallest, Bytes(0));
  for (Bytes size = smallest; size < whole; size = Bytes(size.value() * 4)) sizes_.push_back(size);
  sizes_.push_back(whole);
}

void BucketTuner::took(Duration step) {
  if (settled()) return;
  times_.push_back(step);
  if (times_.size() < kSettling + kCounting) return;
  const auto from = times_.begin() + kSettling;
  std::ranges::nth_element(from, from + kCounting / 2, times_.end());
  medians_.push_back(from[kCounting / 2]);
  times_.clear();
  ++tried_;
  now_ = settled() ? static_cast<std::size_t>(std::ranges::min_element(medians_) - medians_.begin())
                   : tried_;
}

}  // namespace shoal
