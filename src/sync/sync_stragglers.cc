// A synchronous step that does not wait for all: gradients are computed until it is decided whose
// count (stragglers.h), and only then exchanged.
//
//   worker:  compute own micro-shard; tell rank 0; stop when the decision comes
//   rank 0:  hear who is done, until it can decide; tell all
//   then:    exchange the gradients that count; the others take part without their own
//
// Cost a step: one message of each worker to rank 0 and back, beside the exchange.
// Failure: as any step. What was told in a step that is given up is forgotten with its view.

#include "collective/dissemination.h"
#include "runtime/task_group.h"
#include "sync/sync_step.h"

namespace shoal {
namespace {

// Into so many pieces a share is cut whose worker may be told to stop.
constexpr std::size_t kPieces = 4;

}  // namespace

Task<void> SyncStep::compute_until_decided(const Group& group) {
  const Time begin = node_.env.now();
  done_ = 0;
  decided_ = false;
  decision_.assign(micro_shards_.size(), 0);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    if (group.rank == Rank(0)) tasks.spawn(decide(group));
    tasks.spawn(hear_decision(group));
    own_done_ = 0;
    co_await compute_pieces(group);
    report_.compute = node_.env.now() - begin;
    // Rank 0 hears from everyone in every step, so that nothing of it is left in the next.
    const Tag tag = group.tag(shoal::operation(operations::kDone, replica_.step), 0);
    co_await node_.endpoint.send(group.view->at(Rank(0)), tag, const_buf(own_done_));
  });
  for (std::size_t i = 0; i < micro_shards_.size(); ++i) {
    micro_shards_[i].winner = Rank(static_cast<std::uint32_t>(decision_[i]));
    micro_shards_[i].counted = micro_shards_[i].winner == kDropped ? 0 : micro_shards_[i].samples();
  }
  if (options_.recipe.stragglers == StragglerPolicy::Fastest) co_await count_samples(group);
  terms_.clear();
  batch_ = 0;
  for (const MicroShard& micro_shard : micro_shards_) {
    if (micro_shard.counted == 0) continue;
    terms_.push_back(micro_shard.winner);
    batch_ += micro_shard.counted;
  }
  cut_whole_range();
}

// A piece counts when it is complete: only then is it added, and the decision stops no addition.
Task<void> SyncStep::compute_pieces(const Group& group) {
  const auto own = std::ranges::find_if(
      micro_shards_, [&](const MicroShard& micro_shard) { return micro_shard.is_of(group.rank); });
  if (own == micro_shards_.end()) {
    co_await until_decided();
    co_return;
  }
  const std::uint64_t n = own->samples();
  const bool may_stop = options_.recipe.stragglers == StragglerPolicy::Fastest;
  const std::size_t pieces = may_stop ? std::clamp<std::size_t>(n, 1, kPieces) : 1;
  shard_sums_.begin();
  const Range beside = pieces > 1 ? shard_sums_.spare() : Range();
  for (std::size_t i = 0; i < pieces; ++i) {
    Channel<Ready> unheard;
    const Range into = i == 0 ? replica_.g().all() : beside;
    Portion portion = portion_of(*own, i, pieces);
    const std::uint64_t samples = portion.samples.size();
    Score score;
    const GradientTarget target{into};
    auto first = co_await race(
        until_decided(),
        learner_.gradient(node_.env, replica_.w(), target, std::move(portion), unheard, score));
    if (first.index() == 0) break;
    if (i > 0) co_await shard_sums_.add_to(replica_.g().all(), into);
    report_.own += score;
    done_ += samples;
    keep_rest_after(0);
  }
  put_rest_back();
  own_done_ = done_ == n ? 1 : 0;
}

// At rank 0: hears who is done, and tells all when it is decided.
Task<void> SyncStep::decide(const Group& group) {
  Candidates micro_shards;
  for (const MicroShard& micro_shard : micro_shards_) {
    micro_shards.push_back({micro_shard.worker});
    if (micro_shard.deputy != micro_shard.worker) micro_shards.back().push_back(micro_shard.deputy);
  }
  std::vector<Rank> done;
  bool told = false;
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t heard = 0; heard < group.size(); ++heard) {
      const Match match{.tag = group.tag(shoal::operation(operations::kDone, replica_.step), 0)};
      const Received from = co_await node_.endpoint.recv(match, mut_buf(heard_done_));
      if (heard_done_ != 0) done.push_back(*group.view->rank_of(from.from));
      const std::optional<Winners> winners = decide_stragglers(options_.recipe, micro_shards, done);
      if (told || !winners) continue;
      told = true;
      told_.clear();
      for (const Rank r : *winners) told_.push_back(r.value());
      const Tag tag = group.tag(shoal::operation(operations::kDecision, replica_.step), 0);
      for (std::uint32_t r = 0; r < group.size(); ++r)
        tasks.spawn(as_task(node_.endpoint.send(group.view->at(Rank(r)), tag,
                                                const_buf(std::span<const std::uint64_t>(told_)))));
    }
  });
}

Task<void> SyncStep::hear_decision(const Group& group) {
  const Match match{.from = group.view->at(Rank(0)),
                    .tag = group.tag(shoal::operation(operations::kDecision, replica_.step), 0)};
  const MutBuf room = mut_buf(std::span(decision_));
  const Received received = co_await node_.endpoint.recv(match, room);
  require_size(received, room.size);
  decided_ = true;
  decided_here_.notify_all();
}

Task<void> SyncStep::until_decided() {
  while (!decided_) co_await decided_here_.wait();
}

// How much of its micro-shard each has, where none had to come to its end.
Task<void> SyncStep::count_samples(const Group& group) {
  const std::vector<std::uint64_t> counts =
      co_await counts_.of_all(group, done_, shoal::operation(operations::kCounts, replica_.step));
  for (MicroShard& micro_shard : micro_shards_)
    micro_shard.counted = counts[micro_shard.winner.value()];
}

}  // namespace shoal
