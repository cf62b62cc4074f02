#include "sync/priority_reduction.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "collective/direct.h"
#include "collective/reduce.h"
#include "collective/steps.h"
#include "sync/operations.h"

namespace shoal {
namespace {

constexpr std::size_t kChunksUnderWay = 2;
// The most chunks of a gradient, because each needs its own number in a step. A larger gradient has
// larger chunks.
constexpr std::uint64_t kChunksMax = kBucketsMax / 2;

}  // namespace

void PriorityReduction::begin_view(const View& view, Rank) {
  goes_early_ = view.size() > 1 && !update_.needs_norms() && replica_.buffers().n == Elements(0) &&
                context_.recipe.balance == Balance::Even && context_.recipe.accumulate == 1 &&
                context_.recipe.epoch_fraction >= 1;
  update_.begin_view(goes_early_, goes_early_);
  gate_.reset();
}

void PriorityReduction::begin_step() {
  chunks_.clear();
  turns_.emplace(kChunksUnderWay);
  gate_.reset();
  if (goes_early_) gate_ = std::make_shared<ParameterGate>(learner_.pieces());
}

Task<void> PriorityReduction::finish(const Group&) {
  if (!goes_early_) co_return co_await update_.apply(replica_.g().all());
  replica_.exchange_copies();
}

Range PriorityReduction::summed(const Group&, const Ready& bucket) {
  return replica_.g().range(bucket.at, bucket.n);
}

Task<void> PriorityReduction::reduce_as_ready(const Group& group, Channel<Ready>& ready,
                                              std::deque<Ready>& buckets, TaskGroup& tasks,
                                              StepReport& report) {
  const std::uint64_t asked = context_.tuning.chunk.value() / sizeof(float);
  chunk_n_ = Elements(std::max({asked, replica_.N.value() / kChunksMax + 1, group.size()}));
  while (auto bucket = co_await ready.next()) {
    const std::uint64_t pieces = pieces_of(bucket->n, chunk_n_);
    const std::uint32_t made = bucket->bucket;
    // If the backward pass ascends in the arena, the first layers are at its top.
    const bool rises = buckets.empty() || bucket->at > buckets.back().at;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const Range piece = part_of(Range{nullptr, bucket->at, bucket->n}, i, pieces);
      SHOAL_CHECK_LT(chunks_.size(), kBucketsMax);
      Chunk& chunk = chunks_.emplace_back();
      chunk.ready = Ready{static_cast<std::uint32_t>(chunks_.size() - 1), piece.at, piece.n};
      chunk.bucket = made;
      // The backward pass reaches the first layers last.
      chunk.ticket.place = (kBucketsMax - made) << 32U | (rises ? pieces - 1 - i : i);
      tasks.spawn(exchange(group, chunk, report));
    }
    buckets.push_back(std::move(*bucket));
  }
}

Task<void> PriorityReduction::exchange(const Group& group, Chunk& chunk, StepReport& report) {
  const Elements at = chunk.ready.at;
  const Elements n = chunk.ready.n;
  if (group.size() > 1) {
    const bool waits = n.value() >= group.size();
    co_await all_reduce(group, chunk, waits);
    if (waits) turns_->leave();
    report.exchanges.push_back({chunk.bucket, chunk.begun, node_.env.now()});
  }
  if (!goes_early_) co_return;
  co_await update_.apply(replica_.g().range(at, n));
  gate_->came(at, n);
}

Task<void> PriorityReduction::hear_term(const Group& group, Chunk& chunk, Rank from, Bytes size,
                                        std::optional<Reading>& term) {
  const std::uint64_t number =
      operation(replica_.step, chunk.ready.bucket, BucketOperation::Reduce);
  const Match match{.from = group.view->at(from), .tag = group.tag(number, 0)};
  Reading there = co_await node_.endpoint.read(match);
  require_size(there, size);
  term = std::move(there);
  turns_->heard(chunk.ticket);
}

// As direct_all_reduce, but a member listens before its turn.
Task<void> PriorityReduction::all_reduce(const Group& group, Chunk& chunk, bool waits) {
  const Range g = replica_.g().range(chunk.ready.at, chunk.ready.n);
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  const Range own = part_of(g, r, P);
  const std::uint64_t number =
      operation(replica_.step, chunk.ready.bucket, BucketOperation::Reduce);
  const Tag tag = group.tag(number, 0);
  if (!waits) chunk.ticket.begun = true;
  co_await with_group([&](TaskGroup& giving) -> Task<> {
    std::vector<std::optional<Reading>> terms(P);
    co_await with_group([&](TaskGroup& hearing) -> Task<> {
      for (std::uint32_t from = 0; from < P && own.n > Elements(0); ++from)
        if (Rank(from) != group.rank)
          hearing.spawn(hear_term(group, chunk, Rank(from), own.bytes().size, terms[from]));
      co_await turns_->turn(chunk.ticket);
      chunk.begun = node_.env.now();
      for (std::uint64_t k = 1; k < P; ++k) {
        const Range part = part_of(g, (r + k) % P, P);
        if (part.n > Elements(0))
          giving.spawn(as_task(give(group, group.at((r + k) % P), tag, part)));
      }
    });
    if (own.n == Elements(0)) co_return;
    std::vector<const float*> from;
    for (const std::optional<Reading>& term : terms)
      from.push_back(term ? floats(term->data()).data() : own.data().data());
    co_await sum_up(node_.env, own, P, std::move(from));
  });
  co_await direct_all_gather(group, g, number);
}

}  // namespace shoal
