#include "sync/buckets.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sync/operations.h"

namespace shoal {
namespace {

constexpr std::uint64_t kLargeBucket = 1 << 18;  // elements

}  // namespace

void Buckets::begin_view(bool tunes) {
  tuner_ = tunes ? BucketTuner(context_.tuning.tune_buckets, replica_.g().all().bytes().size)
                 : BucketTuner();
}

void Buckets::cut_whole() {
  all_.clear();
  const std::uint64_t N = replica_.N.value();
  for (std::uint64_t at = 0; at < N; at += kLargeBucket)
    all_.push_back({static_cast<std::uint32_t>(all_.size()), Elements(at),
                    Elements(std::min(kLargeBucket, N - at))});
}

// Joins adjacent buckets, for both directions of the backward pass.
Task<void> Buckets::reduce_as_ready(const Group& group, Reduction& reduction, Channel<Ready>& ready,
                                    TaskGroup& tasks, StepReport& report) {
  bool open = false;  // the last one may still be joined by the next
  const auto leaves = [&] {
    if (std::exchange(open, false) && overlaps(context_.recipe))
      tasks.spawn(reduce(group, reduction, all_.back(), report));
  };
  while (auto bucket = co_await ready.next()) {
    // A bucket that is sent as factors is not joined.
    const bool joins =
        open && !factors_.takes(group, *bucket) && !factors_.takes(group, all_.back());
    const bool before = joins && bucket->at + bucket->n == all_.back().at;
    const bool behind = joins && all_.back().at + all_.back().n == bucket->at;
    if (before || behind) {
      all_.back().at = std::min(all_.back().at, bucket->at);
      all_.back().n += bucket->n;
    } else {
      leaves();
      SHOAL_CHECK_LT(all_.size(), kBucketsMax);
      bucket->bucket = static_cast<std::uint32_t>(all_.size());
      all_.push_back(std::move(*bucket));
      open = true;
    }
    if (all_.back().n.value() * sizeof(float) >= tuner_.size().value()) leaves();
  }
  leaves();
}

void Buckets::reduce_all(const Group& group, Reduction& reduction, TaskGroup& tasks,
                         StepReport& report) {
  for (const Ready& bucket : all_) tasks.spawn(reduce(group, reduction, bucket, report));
}

// One bucket: its sum, and its part of the next state if that is a copy.
Task<void> Buckets::reduce(const Group& group, Reduction& reduction, Ready bucket,
                           StepReport& report) {
  const Time begin = node_.env.now();
  co_await reduction.reduce(group, bucket);
  report.exchanges.push_back({bucket.bucket, begin, node_.env.now()});
  // Norms need the sums of all buckets, so none may be applied before.
  if (!reduction.copies_state() || update_.needs_norms()) co_return;
  co_await reduction.apply(group, bucket);
  co_await reduction.spread(group, bucket);
}

}  // namespace shoal
