#include "sync/everyone_reduction.h"

#include "collective/exchange.h"
#include "sync/operations.h"

namespace shoal {

Task<void> EveryoneReduction::reduce(const Group& group, const Ready& bucket) {
  const Range g = replica_.g().range(bucket.at, bucket.n);
  const std::uint64_t number = operation(replica_.step, bucket.bucket, BucketOperation::Reduce);
  if (encoded_.active()) {
    co_await encoded_.all_reduce(group, g, number);
    co_return;
  }
  if (factors_.takes(group, bucket)) {
    co_await factors_.all_reduce(group, bucket, number);
    co_return;
  }
  if (group.size() == 1) co_return;
  const Range scratch = replica_.scratch().range(bucket.at, bucket.n);
  co_await all_reduce(exchange_.of(group, g.bytes().size), group, g, scratch, number);
}

Task<void> EveryoneReduction::finish(const Group&) { return update_.apply(replica_.g().all()); }

Range EveryoneReduction::summed(const Group&, const Ready& bucket) {
  return replica_.g().range(bucket.at, bucket.n);
}

}  // namespace shoal
