#include "sync/straggler_round.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "runtime/task_group.h"
#include "sync/operations.h"
#include "sync/stragglers.h"

namespace shoal {
namespace {

// The pieces of a share, after each of which its worker may stop.
constexpr std::size_t kPieces = 4;

}  // namespace

Task<void> StragglerRound::compute(const Group& group, StepReport& report) {
  const Time begin = node_.env.now();
  samples_done_ = 0;
  decided_ = false;
  decision_.assign(dealing_.micro_shards().size(), 0);
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    if (group.rank == Rank(0)) tasks.spawn(decide(group));
    tasks.spawn(hear_decision(group));
    own_done_ = 0;
    co_await compute_pieces(group, report.own);
    report.compute = node_.env.now() - begin;
    // Rank 0 receives from all workers in every step, so that no report is left for the next one.
    const Tag tag = group.tag(operation(operations::kDone, replica_.step), 0);
    co_await node_.endpoint.send(group.view->at(Rank(0)), tag, const_buf(own_done_));
  });
  dealing_.decide(decision_);
  if (!waits_by<PartialGradients>(context_.recipe)) co_return;
  // Partial micro-shards count: gathers the number of samples of each.
  const std::vector<std::uint64_t> samples = co_await gathering_.of_all(
      group, samples_done_, operation(operations::kCounts, replica_.step));
  dealing_.count(samples);
}

// Only complete pieces are added, and a decision does not interrupt an addition.
Task<void> StragglerRound::compute_pieces(const Group& group, Score& score) {
  const MicroShard* const own = dealing_.micro_shard_of(group.rank);
  if (own == nullptr) {
    co_await until_decided();
    co_return;
  }
  const std::uint64_t n = own->samples();
  const bool may_stop = waits_by<PartialGradients>(context_.recipe);
  const std::size_t pieces = may_stop ? std::clamp<std::size_t>(n, 1, kPieces) : 1;
  sums_.begin();
  const Range beside = pieces > 1 ? sums_.spare() : Range();
  for (std::size_t i = 0; i < pieces; ++i) {
    Channel<Ready> unheard;
    const Range into = i == 0 ? replica_.g().all() : beside;
    Portion portion = dealing_.portion_of(*own, i, pieces);
    const std::uint64_t samples = portion.samples.size();
    Score of_piece;
    const GradientTarget target{into};
    auto first = co_await race(
        until_decided(),
        learner_.gradient(node_.env, replica_.w(), target, std::move(portion), unheard, of_piece));
    if (first.index() == 0) break;
    if (i > 0) co_await sums_.add_to(replica_.g().all(), into);
    score += of_piece;
    samples_done_ += samples;
    buffers_.keep_after(0);
  }
  buffers_.put_back();
  own_done_ = samples_done_ == n ? 1 : 0;
}

// At rank 0: collects reports, and sends the decision to all.
Task<void> StragglerRound::decide(const Group& group) {
  Candidates micro_shards;
  for (const MicroShard& micro_shard : dealing_.micro_shards()) {
    micro_shards.push_back({micro_shard.worker});
    if (micro_shard.deputy != micro_shard.worker) micro_shards.back().push_back(micro_shard.deputy);
  }
  std::vector<Rank> done;
  bool told = false;
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (std::uint64_t heard = 0; heard < group.size(); ++heard) {
      const Match match{.tag = group.tag(operation(operations::kDone, replica_.step), 0)};
      const Received from = co_await node_.endpoint.recv(match, mut_buf(heard_done_));
      if (heard_done_ != 0) done.push_back(*group.view->rank_of(from.from));
      const std::optional<Winners> winners = decide_stragglers(context_.recipe, micro_shards, done);
      if (told || !winners) continue;
      told = true;
      told_.clear();
      for (const Rank r : *winners) told_.push_back(r.value());
      const Tag tag = group.tag(operation(operations::kDecision, replica_.step), 0);
      for (std::uint32_t r = 0; r < group.size(); ++r)
        tasks.spawn(as_task(node_.endpoint.send(group.view->at(Rank(r)), tag,
                                                const_buf(std::span<const std::uint64_t>(told_)))));
    }
  });
}

Task<void> StragglerRound::hear_decision(const Group& group) {
  const Match match{.from = group.view->at(Rank(0)),
                    .tag = group.tag(operation(operations::kDecision, replica_.step), 0)};
  const MutBuf room = mut_buf(std::span(decision_));
  const Received received = co_await node_.endpoint.recv(match, room);
  require_size(received, room.size);
  decided_ = true;
  decided_here_.notify_all();
}

Task<void> StragglerRound::until_decided() {
  while (!decided_) co_await decided_here_.wait();
}

}  // namespace shoal
