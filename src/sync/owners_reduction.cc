#include "sync/owners_reduction.h"

#include "collective/direct.h"
#include "runtime/task_group.h"
#include "sync/operations.h"

namespace shoal {

void OwnersReduction::begin_view(const View& view, Rank) {
  copies_ = view.size() > 1;
  update_.begin_view(copies_, false);
  parts_.begin_view(view.size(), Elements(1));
}

Task<void> OwnersReduction::reduce(const Group& group, const Ready& bucket) {
  return parts_.reduce_scatter(group, bucket);
}

Task<void> OwnersReduction::apply(const Group& group, const Ready& bucket) {
  return update_.apply(parts_.own_part(group, bucket));
}

Task<void> OwnersReduction::spread(const Group& group, const Ready& bucket) {
  const Cuts cuts = parts_.cuts_of(bucket);
  const Range g = replica_.g().range(bucket.at, bucket.n);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (unsigned a = 0; a < 1 + update_.slots_each(); ++a)
      tasks.spawn(
          direct_all_gather(group, update_.next_array(g, a), cuts,
                            operation(replica_.step, bucket.bucket, BucketOperation::Spread, a)));
    co_return;
  });
}

Task<void> OwnersReduction::finish(const Group&) {
  if (!copies_) co_return co_await update_.apply(replica_.g().all());
  replica_.exchange_copies();
}

Range OwnersReduction::summed(const Group& group, const Ready& bucket) {
  return sums_whole() ? replica_.g().range(bucket.at, bucket.n) : parts_.own_part(group, bucket);
}

}  // namespace shoal
