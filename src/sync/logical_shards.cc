#include "sync/logical_shards.h"

#include <utility>

#include "collective/direct.h"
#include "optim/update.h"
#include "runtime/channel.h"
#include "sync/operations.h"

namespace shoal {

Task<void> LogicalShards::compute(const Group& group, StepReport& report) {
  const Time begin = node_.env.now();
  const std::uint32_t L = context_.recipe.shards;
  const std::vector<MicroShard>& micro_shards = dealing_.micro_shards();
  held_.clear();
  own_sums_.clear();
  sums_.begin();
  const ShardSums::Compute compute = [this, &report](std::uint32_t shard, GradientTarget target) {
    return compute_shard(shard, target, report.own);
  };
  for (std::uint32_t from = 0, to = 0; from < L; from = to) {
    const Rank worker = micro_shards[from].winner;
    while (to < L && micro_shards[to].winner == worker) ++to;
    for (const Subtree& node : subtrees(L, from, to)) {
      held_.push_back({node, worker});
      if (worker != group.rank) continue;
      const Range sum = co_await sums_.of(node, compute);
      own_sums_.push_back(sum);
    }
  }
  report.compute = node_.env.now() - begin;
}

Task<void> LogicalShards::compute_shard(std::uint32_t shard, GradientTarget target, Score& score) {
  Channel<Ready> unheard;
  Portion portion = dealing_.portion_of(dealing_.micro_shards()[shard], 0, 1);
  co_await learner_.gradient(node_.env, replica_.w(), target, std::move(portion), unheard, score);
  buffers_.take();
}

Task<void> LogicalShards::reduce_scatter(const Group& group, const Ready& bucket,
                                         const Cuts& cuts) {
  const Range g = replica_.g().range(bucket.at, bucket.n);
  std::vector<Range> own;
  for (const Range& sum : own_sums_) own.push_back(sum.slice(bucket.at, bucket.n));
  co_await fixed_tree_reduce_scatter(
      group, context_.recipe.shards, held_, own, cuts, cut_of(g, cuts[group.rank.value()]),
      operation(replica_.step, bucket.bucket, BucketOperation::Reduce));
  if (rounds(context_.rule) > 0)
    co_await direct_all_gather(group, g, cuts,
                               operation(replica_.step, bucket.bucket, BucketOperation::GatherSum));
}

}  // namespace shoal
