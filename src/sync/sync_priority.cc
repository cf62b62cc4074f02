// The order of sending of a synchronous step by what the next one needs first.
// P3: Jayarajan, Wei, Gibson, Fedorova, Pekhimenko 2019, arXiv:1905.03960. ByteScheduler: Peng et
// al. 2019, SOSP, doi:10.1145/3341301.3359642.
//
//   backward of t:   bucket k of g is ready, last layer first
//     cut it into chunks of at most c bytes; they wait, those of the first layers in front
//   whenever fewer than two chunks are under way:
//     the foremost that waits: all-reduce(chunk), then w'[chunk] <- update(w, g)
//   meanwhile, as soon as backward of t has ended: the pass of t+1, on w'
//     forward of layer l waits until all of w'[l] is there
//   all have told that t can be finished:  w <- w'
//
// Symbols: c chunk size (SyncOptions::chunk, 512 KiB), w' the second copy of the state.
// Cost: that of the direct all-reduce, in N/c operations, of which two are under way; a second copy
//   of the state. The step takes max(forward + backward, exchange) at best, where wfbp takes
//   forward + max(backward, exchange): forward waits for what is still to come of its own layer
//   alone.
// Deviations: P3 has servers; here the workers are each other's, a part of each chunk each. For
//   all-reduce ByteScheduler has a master that tells all in which order chunks go; here each
//   decides by itself, and begins what it hears that another has begun (send_scheduler.h), so that
//   no decision travels behind the chunks that it is about. Chunks of fewer elements than workers
//   do
//   not wait: not all would hear of them. Sums are in the order of ranks, and every element is
//   updated once, so that the bits are those of every other order with `--exchange direct`.
//   Between workers of one host nothing waits for a link, and every chunk costs two of them a turn
//   of their loops: there buckets go as backward makes them.
//   The next pass begins only when the step is over where
//     - the optimizer needs norms of the whole gradient (clipping, LARS, LAMB),
//     - the model has running statistics, which passes change in place and workers average,
//     - shares are cut by measured speeds, or a share takes several passes,
//     - something comes between the two steps: the end of an epoch, a checkpoint, a newcomer,
//     - the learner cannot wait for a layer (Learner::waits_at_gates).
// Failure: until all have told, w is as it was. When the view changes the chunks under way are
//   given up with the step, and so is the pass that was begun early: w' and what it was for count
//   for nothing, and its samples were never settled.

#include "base/error.h"
#include "collective/direct.h"
#include "collective/reduce.h"
#include "collective/steps.h"
#include "sync/sync_step.h"

namespace shoal {
namespace {

constexpr std::size_t kChunksUnderWay = 2;
// Of a gradient. Of larger ones chunks are larger: each has a number of its own in its step.
constexpr std::uint64_t kChunksMax = kBucketsMax / 2;

}  // namespace

// ---- Chunks

void SyncStep::begin_chunks(const Group& group) {
  chunks_.clear();
  turns_.emplace(kChunksUnderWay);
  gate_.reset();
  if (goes_early_) gate_ = std::make_shared<ParameterGate>(learner_.pieces());
  const std::uint64_t asked = options_.chunk.value() / sizeof(float);
  chunk_n_ = Elements(std::max({asked, replica_.N.value() / kChunksMax + 1, group.size()}));
}

Task<void> SyncStep::exchange_chunks(const Group& group, Channel<Ready>& ready, TaskGroup& tasks) {
  while (auto bucket = co_await ready.next()) {
    const std::uint64_t pieces = pieces_of(bucket->n, chunk_n_);
    const std::uint32_t made = bucket->bucket;
    // Where backward goes up in the arena the first layers are at the top of it.
    const bool rises = buckets_.empty() || bucket->at > buckets_.back().at;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const Range piece = part_of(Range{nullptr, bucket->at, bucket->n}, i, pieces);
      SHOAL_CHECK_LT(chunks_.size(), kBucketsMax);
      Chunk& chunk = chunks_.emplace_back();
      chunk.ready = Ready{static_cast<std::uint32_t>(chunks_.size() - 1), piece.at, piece.n};
      chunk.bucket = made;
      // The first layers are those that backward comes to last.
      chunk.ticket.place = (kBucketsMax - made) << 32U | (rises ? pieces - 1 - i : i);
      tasks.spawn(exchange_chunk(group, chunk));
    }
    buckets_.push_back(std::move(*bucket));
  }
}

Task<void> SyncStep::exchange_chunk(const Group& group, Chunk& chunk) {
  const Elements at = chunk.ready.at;
  const Elements n = chunk.ready.n;
  if (group.size() > 1) {
    const bool waits = n.value() >= group.size();
    co_await reduce_chunk(group, chunk, waits);
    if (waits) turns_->leave();
    report_.exchanges.push_back({chunk.bucket, chunk.begun, node_.env.now()});
  }
  if (!goes_early_) co_return;
  co_await apply(replica_.g().range(at, n));
  gate_->came(at, n);
}

Task<void> SyncStep::hear_term(const Group& group, Chunk& chunk, Rank from, Bytes size,
                               std::optional<Reading>& term) {
  const Tag tag = group.tag(operation(chunk.ready, BucketOperation::Reduce), 0);
  const Match match{.from = group.view->at(from), .tag = tag};
  Reading there = co_await node_.endpoint.read(match);
  require_size(there, size);
  term = std::move(there);
  turns_->heard(chunk.ticket);
}

// direct.h, but that a member listens before its turn.
Task<void> SyncStep::reduce_chunk(const Group& group, Chunk& chunk, bool waits) {
  const Range g = replica_.g().range(chunk.ready.at, chunk.ready.n);
  const std::uint64_t P = group.size();
  const std::uint64_t r = group.rank.value();
  const Range own = part_of(g, r, P);
  const std::uint64_t number = operation(chunk.ready, BucketOperation::Reduce);
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

// ---- The pass of the next step

// Before the step at hand has ended, so the shares of that one are on lease.
std::optional<Portion> SyncStep::next_portion(const Group& group) const {
  if (std::ranges::find(guests_, true) != guests_.end()) return {};
  const Step next = replica_.step + Step(1);
  const bool saved =
      options_.save_every > Step(0) && next.value() % options_.save_every.value() == 0;
  if (next >= options_.steps || saved) return {};
  const Ledger& ledger = replica_.ledger;
  const std::uint64_t epoch = ledger.epoch();
  const std::uint64_t n = std::min(batch_of(*group.view, epoch), ledger.left());
  const std::vector<Share> shares = ledger.peek(n, 1);
  if (n == 0 || shares.empty() || shares[0].epoch != epoch || shares[0].n != n) return {};
  const std::vector<std::uint64_t> counts = split(n, weights());
  Share own = shares[0];
  for (std::uint32_t r = 0; r < group.rank.value(); ++r) own.at += counts[r];
  own.n = counts[group.rank.value()];
  if (own.n == 0) return {};
  return Portion{epoch, next, group.rank.value(), ledger.samples(own)};
}

void SyncStep::begin_early_pass(const Group& group) {
  if (gate_ == nullptr || !replica_.valid) return;
  std::optional<Portion> portion = next_portion(group);
  if (!portion) return;
  early_ = std::make_unique<EarlyPass>();
  early_->portion = std::move(*portion);
  early_->gate = gate_;
  early_->w = replica_.next_w();
  early_->g = replica_.scratch().all();
  lending_->spawn(run_early_pass(*early_));
}

// Whatever it ends with is for the step that takes it.
Task<void> SyncStep::run_early_pass(EarlyPass& pass) {
  pass.begun = node_.env.now();
  try {
    GradientTarget target{pass.g};
    if (learner_.waits_at_gates()) {
      target.gate = pass.gate.get();
    } else {
      co_await pass.gate->until_all(node_.env);
    }
    Portion portion = pass.portion;
    co_await learner_.gradient(node_.env, pass.w, target, std::move(portion), pass.ready,
                               pass.score);
  } catch (...) {
    pass.error = std::current_exception();
  }
  pass.ended_at = node_.env.now();
  pass.ended = true;
  pass.over.notify_all();
}

Task<void> SyncStep::end_of(EarlyPass& pass) {
  while (!pass.ended) co_await pass.over.wait();
}

// The gradient of this step, if it was begun in the last one.
Task<void> SyncStep::take_early_pass(const Group& group) {
  taken_ = std::move(early_);
  if (taken_ == nullptr) co_return;
  const auto own = std::ranges::find_if(
      micro_shards_, [&](const MicroShard& micro_shard) { return micro_shard.is_of(group.rank); });
  const Portion& begun = taken_->portion;
  const bool same = own != micro_shards_.end() && begun.step == replica_.step &&
                    begun.epoch == replica_.ledger.epoch() && begun.shard == own->number &&
                    begun.samples == samples_of(*own);
  if (same) {
    node_.env.probe("sync: a pass was begun before its step");
    replica_.exchange_gradients();
    co_return;
  }
  node_.env.probe("sync: a pass was begun for nothing");
  co_await end_of(*taken_);
  taken_.reset();
}

Task<void> SyncStep::follow_early_pass(const Group& group) {
  co_await end_of(*taken_);
  if (taken_->error) std::rethrow_exception(taken_->error);
  report_.own = taken_->score;
  report_.begun = taken_->begun;
  report_.computed = taken_->ended_at;
  report_.compute = taken_->ended_at - taken_->begun - taken_->gate->time_waited();
  begin_early_pass(group);
}

void SyncStep::refuse_early_pass() {
  for (const EarlyPass* pass : {early_.get(), taken_.get()})
    if (pass != nullptr) pass->gate->refuse();
}

}  // namespace shoal
