// A worker of a reproducible run with servers: it pushes sums of logical shards (shard_sums.h), and
// after a loss also those of the lost. The other half is ps/round_handler.h.
#include <algorithm>
#include <utility>

#include "ps/sample_scheduler.h"
#include "ps/served_worker.h"

namespace shoal {

// The gradient of each own shard, added up as far as the tree goes here.
Task<void> ServedWorker::compute_shards() {
  const Time begin = node_.env.now();
  shard_sums_.begin();
  made_up_.clear();
  own_sums_ = co_await sums_of(next_round_, report_.own);
  report_.compute += node_.env.now() - begin;
}

Task<std::vector<ServedWorker::ShardSum>> ServedWorker::sums_of(RoundShards shards, Score& score) {
  const ShardSums::Compute compute = [&](std::uint32_t shard, GradientTarget target) {
    return compute_shard(shards, shard, target, score);
  };
  std::vector<ShardSum> sums;
  for (const Subtree& node : subtrees(options_.logical, shards.from, shards.to)) {
    const Range sum = co_await shard_sums_.of(node, compute);
    sums.push_back({node, sum});
  }
  co_return sums;
}

Task<void> ServedWorker::compute_shard(RoundShards of, std::uint32_t shard, GradientTarget target,
                                       Score& score) {
  Channel<Ready> unheard;
  const Share share = samples_of(of.round, options_.logical, shard, shard + 1);
  Portion portion{share.epoch, Step(of.round.number), shard, replica_.ledger.samples(share)};
  co_await learner_.gradient(node_.env, replica_.w(), target, std::move(portion), unheard, score);
}

// What is read lies beside what the step began with until all of it is there: that may be needed
// for the shards of somebody who is lost.
Task<void> ServedWorker::push_shards() {
  bool done = false;
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    tasks.spawn(make_up_for_lost(done, tasks));
    const Visit pushes = [this](std::uint32_t k) { return push_sums(k, own_sums_, true); };
    co_await at_all_shards(pushes);
    done = true;
    heard_.notify_all();
  });
  replica_.exchange_copies();
  std::erase_if(lost_, [&](const Lost& l) { return l.shards.round.number <= clock_; });
  clock_ += std::exchange(held_, 0);
  settled_ = clock_;
  samples_ = steps_ = 0;
}

// Each sum is a push of its own, and one of them reads.
Task<void> ServedWorker::push_sums(std::uint32_t shard, const std::vector<ShardSum>& sums,
                                   bool reads) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (const ShardSum& sum : sums)
      tasks.spawn(push_sum(shard, sum, reads && &sum == &sums.front()));
    co_return;
  });
}

Task<void> ServedWorker::push_sum(std::uint32_t shard, ShardSum sum, bool reads) {
  PushSumRequest request;
  request.header.shard = shard;
  request.round = next_round_.round;
  request.of = sum.of;
  request.based_on = had_[shard].version;
  request.reads = reads ? 1 : 0;
  const Range brought = of(sum.values, shard);
  const PushSumAnswer answer = co_await client_.call(request, brought, room(shard));
  if (!reads) co_return;
  if (answer.header.parameters != 0) took(shard, answer.read);
  if (shard == 0) report_.staleness = static_cast<double>(answer.staleness);
}

// While this worker waits for the others: the pieces of those that were lost in this step. All who
// are left do so, and the servers take each once.
Task<void> ServedWorker::make_up_for_lost(const bool& done, TaskGroup& tasks) {
  while (!done) {
    const auto it = std::ranges::find_if(
        lost_, [&](const Lost& l) { return !l.made && l.shards.round.number == clock_; });
    if (it == lost_.end()) {
      co_await heard_.wait();
      continue;
    }
    it->made = true;
    const RoundShards shards = it->shards;
    if (shards.from == next_round_.from && shards.to == next_round_.to) continue;
    node_.env.probe("ps: a worker made up for a lost one");
    Score score;
    std::vector<ShardSum> sums = co_await sums_of(shards, score);
    made_up_.push_back(std::move(sums));
    // A push has ended when its update is made, which may need those of somebody else who is lost.
    for (std::uint32_t k = 0; k < cuts_.size(); ++k)
      tasks.spawn(push_sums(k, made_up_.back(), false));
  }
}

// Hears of them until this worker leaves.
Task<void> ServedWorker::follow_lost() {
  LostPieceRequest request;
  while (true) {
    const LostPieceAnswer answer = co_await client_.call(request);
    if (left_) co_return;
    if (answer.known ==
        0) {  // The head was loaded from a checkpoint, and does not know this worker.
      RegisterRequest registers;
      registers.clock = clock_;
      co_await client_.call(registers);
      if (left_) co_return;
      continue;
    }
    request.round = answer.piece.round.number;
    request.known = answer.known;
    lost_.push_back({answer.piece});
    heard_.notify_all();
  }
}

}  // namespace shoal
