#include "sync/root_reduction.h"

#include "collective/tree.h"
#include "runtime/task_group.h"
#include "sync/operations.h"

namespace shoal {
namespace {

constexpr Rank kRoot{0};

}  // namespace

void RootReduction::begin_view(const View& view, Rank) {
  copies_ = view.size() > 1;
  update_.begin_view(copies_, false);
}

Task<void> RootReduction::reduce(const Group& group, const Ready& bucket) {
  const Range g = replica_.g().range(bucket.at, bucket.n);
  const Range scratch = replica_.scratch().range(bucket.at, bucket.n);
  co_await tree_reduce(group, kRoot, g, scratch,
                       operation(replica_.step, bucket.bucket, BucketOperation::Reduce));
}

Task<void> RootReduction::apply(const Group& group, const Ready& bucket) {
  return update_.apply(summed(group, bucket));
}

Task<void> RootReduction::spread(const Group& group, const Ready& bucket) {
  const Range g = replica_.g().range(bucket.at, bucket.n);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (unsigned a = 0; a < 1 + update_.slots_each(); ++a)
      tasks.spawn(
          tree_broadcast(group, kRoot, update_.next_array(g, a),
                         operation(replica_.step, bucket.bucket, BucketOperation::Spread, a)));
    co_return;
  });
}

Task<void> RootReduction::finish(const Group&) {
  if (!copies_) co_return co_await update_.apply(replica_.g().all());
  replica_.exchange_copies();
}

Range RootReduction::summed(const Group& group, const Ready& bucket) {
  return replica_.g().range(bucket.at, group.rank == kRoot ? bucket.n : Elements(0));
}

}  // namespace shoal
