// BucketTuner: the size of the buckets in which a gradient is exchanged, tuned during training.
// Small buckets are sent early, during the backward pass; large ones need fewer messages. The best
// size depends on links, cores and model, so the first steps try sizes:
//
//   every size (as the learner cuts, then 4, 16, .. times as large, all in one) for a few steps
//   then the size with the shortest median step, until the end
//
// All members hear the same times, so they choose the same size. Sums do not depend on the size: it
// is tuned only where every element is added in the order of ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "base/types.h"

namespace shoal {

class BucketTuner {
 public:
  BucketTuner() = default;  // keeps the learner's buckets
  // REQUIRES: smallest is above 0.
  BucketTuner(Bytes smallest, Bytes whole);

  // The size for this step: buckets are joined until they have this size.
  Bytes size() const { return sizes_.empty() ? Bytes(0) : sizes_[now_]; }
  bool settled() const { return sizes_.empty() || tried_ == sizes_.size(); }
  // How long the step before the last one took, at the slowest member.
  void took(Duration step);

 private:
  std::vector<Bytes> sizes_;
  std::size_t now_ = 0;    // the one in use
  std::size_t tried_ = 0;  // number of sizes that were tried completely
  std::vector<Duration> times_;
  std::vector<Duration> medians_;
};

}  // namespace shoal
