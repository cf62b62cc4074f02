#include "ps/served_rounds.h"

#include <algorithm>
#include <utility>

namespace shoal {

// The gradient of each own shard, added up as far as the tree goes here.
Task<void> ServedRounds::compute(Score& score) {
  shard_sums_.begin();
  made_up_.clear();
  own_ = co_await sums_of(piece_, score);
}

Task<std::vector<ServedRounds::ShardSum>> ServedRounds::sums_of(RoundShards shards, Score& score) {
  const ShardSums::Compute compute = [&](std::uint32_t shard, GradientTarget target) {
    return compute_shard(shards, shard, target, score);
  };
  std::vector<ShardSum> sums;
  for (const Subtree& node : subtrees(worker_.recipe.shards, shards.from, shards.to)) {
    const Range sum = co_await shard_sums_.of(node, compute);
    sums.push_back({node, sum});
  }
  co_return sums;
}

Task<void> ServedRounds::compute_shard(RoundShards of, std::uint32_t shard, GradientTarget target,
                                       Score& score) {
  Channel<Ready> unheard;
  const Share share = samples_of(of.round, worker_.recipe.shards, shard, shard + 1);
  Portion portion{share.epoch, Step(of.round.number), shard, worker_.replica.ledger.samples(share)};
  co_await worker_.learner.gradient(worker_.node.env, worker_.replica.w(), target,
                                    std::move(portion), unheard, score);
}

// Parameters are read to the second copy until all of them are there: those that the step began
// with may be needed for the pieces of lost workers.
Task<double> ServedRounds::push() {
  bool done = false;
  told_.assign(worker_.cuts.size(), Told());
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    tasks.spawn(make_up_for_lost(done, tasks));
    tasks.spawn(tell_what_is_over(done));
    const ServedContext::Visit pushes = [this](std::uint32_t k) {
      return push_sums(k, own_, true);
    };
    co_await worker_.at_all_shards(pushes);
    done = true;
    changed_.notify_all();
  });
  worker_.replica.exchange_copies();
  ServedProgress& progress = worker_.progress;
  std::erase_if(lost_, [&](const LostPiece& l) { return l.shards.round.number <= progress.clock; });
  progress.clock += std::exchange(progress.held, 0);
  progress.settled = progress.clock;
  progress.samples = progress.unread = 0;
  co_return staleness_;
}

// Each sum is a push of its own, and one of them reads.
Task<void> ServedRounds::push_sums(std::uint32_t shard, const std::vector<ShardSum>& sums,
                                   bool reads) {
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (const ShardSum& sum : sums)
      tasks.spawn(push_sum(shard, sum, reads && &sum == &sums.front()));
    co_return;
  });
}

Task<void> ServedRounds::push_sum(std::uint32_t shard, ShardSum sum, bool reads) {
  PushSumRequest request;
  request.header.shard = shard;
  request.round = piece_.round;
  request.of = sum.of;
  request.based_on = parameters_.version(shard);
  request.reads = reads ? 1 : 0;
  const Range brought = worker_.of(sum.values, shard);
  const std::uint64_t load = loads_[shard];
  const PushSumAnswer answer = co_await worker_.client.call(request, brought, worker_.room(shard));
  if (Told& told = told_[shard]; !told.ended) {
    told.ended = true;
    told.load = load;
    changed_.notify_all();
  }
  if (!reads) co_return;
  if (answer.header.parameters != 0) parameters_.took(shard, answer.read);
  if (shard == 0) staleness_ = static_cast<double>(answer.staleness);
}

// While this worker waits for the others: the pieces of those that were lost in this step. All
// workers that are left do so, and the servers use each sum once.
Task<void> ServedRounds::make_up_for_lost(const bool& done, TaskGroup& tasks) {
  while (!done) {
    const auto it = std::ranges::find_if(lost_, [&](const LostPiece& l) {
      return !l.computed && l.shards.round.number == worker_.progress.clock;
    });
    if (it == lost_.end()) {
      co_await changed_.wait();
      continue;
    }
    it->computed = true;
    const RoundShards shards = it->shards;
    if (shards.from == piece_.from && shards.to == piece_.to) continue;
    worker_.node.env.probe("ps: a worker made up for a lost one");
    Score score;
    std::vector<ShardSum> sums = co_await sums_of(shards, score);
    made_up_.push_back(std::move(sums));
    // A push ends when its update is made, which may need the sums of another lost worker.
    for (std::uint32_t k = 0; k < worker_.cuts.size(); ++k)
      tasks.spawn(push_sums(k, made_up_.back(), false));
  }
}

// Only the holders before and after a directory that was left out are known.
void ServedRounds::note_directory() {
  const ShardDirectory before = std::exchange(directory_, worker_.client.directory());
  const bool left_out = directory_.generation != before.generation.next();
  for (std::uint32_t k = 0; k < directory_.shards.size(); ++k) {
    const auto& [chain, fresh] = directory_.shards[k];
    bool kept = !left_out;
    for (const Holder& holder : before.shards.empty() ? chain.all() : before.shards[k].chain.all())
      kept = kept || chain.has(holder);
    if (fresh != 0 || !kept) ++loads_[k];
  }
  changed_.notify_all();
}

// The shard had made the update of this round, and was loaded since; or all shards have made it: a
// later round was dealt, to a worker that is lost by now. A holder that became the head has the
// sums of all whose pushes have ended, and may still get those of others.
bool ServedRounds::must_tell(std::uint32_t shard) const {
  const Told& told = told_[shard];
  if (told.ended) return told.load != loads_[shard];
  const bool later = std::ranges::any_of(
      lost_, [&](const LostPiece& l) { return l.shards.round.number > piece_.round.number; });
  return later && told.head != directory_.shards[shard].chain.holders[0];
}

// A shard that was loaded may have sums of this round that can never be all: a worker whose push
// has ended does not push again.
Task<void> ServedRounds::tell_what_is_over(const bool& done) {
  while (!done) {
    std::uint32_t shard = 0;
    while (shard < told_.size() && !must_tell(shard)) ++shard;
    if (shard == told_.size()) {
      co_await changed_.wait();
      continue;
    }
    told_[shard].load = loads_[shard];
    told_[shard].head = directory_.shards[shard].chain.holders[0];
    RegisterRequest request;
    request.header.shard = shard;
    request.clock = piece_.round.number + 1;
    co_await worker_.client.call(request);
  }
}

Task<void> ServedRounds::follow_lost() {
  LostPieceRequest request;
  while (true) {
    const LostPieceAnswer answer = co_await worker_.client.call(request);
    if (worker_.progress.left) co_return;
    if (answer.known == 0) {
      // The head was loaded from a checkpoint, and does not know this worker.
      RegisterRequest registers;
      registers.clock = worker_.progress.clock;
      co_await worker_.client.call(registers);
      if (worker_.progress.left) co_return;
      continue;
    }
    request.round = answer.piece.round.number;
    request.known = answer.known;
    lost_.push_back({answer.piece});
    changed_.notify_all();
  }
}

}  // namespace shoal
