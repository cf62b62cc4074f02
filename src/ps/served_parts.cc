// What a worker pushes where it is not the gradient as it is: factors, a part of it, or encoded.
#include <algorithm>
#include <optional>
#include <utility>

#include "optim/update.h"
#include "ps/served_worker.h"

namespace shoal {

// ---- Factors (ps/factored.h)

Task<void> ServedWorker::take_layers(Channel<Ready>& ready) {
  layers_.clear();
  while (true) {
    std::optional<Ready> bucket = co_await ready.next();
    if (!bucket) break;
    if (bucket->factors) layers_.push_back({bucket->at, *bucket->factors});
  }
  std::ranges::sort(layers_, {}, &Layer::at);
}

// In memory that stays: a server that counts as lost may still read it.
Task<Range> ServedWorker::packed(std::uint32_t shard) {
  const ShardCut& cut = cuts_[shard];
  std::vector<float> words;
  co_await node_.env.work(Work::Copy, cut.n,
                          [&] { words = pack(cut, replica_.g().all().data(), layers_); });
  std::optional<Arena>& there = packed_[shard];
  if (!there) there.emplace(node_.endpoint, packed_most(cut, layers_.size()), Substance::Real);
  const Range room = there->range(Elements(0), Elements(words.size()));
  std::ranges::copy(words, room.data().begin());
  co_return room;
}

// ---- Parts (ps/partial_push.h)

// Of what was computed since the last push, and of what waits since earlier ones.
Task<void> ServedWorker::choose_part(bool last) {
  if (!last) co_await parts_->add(replica_.g().all(), samples_);
  PartialPush::Now now;
  now.w = replica_.parameters();
  now.eta = eta_(had_[0].version);
  now.t = clock_ + held_;
  now.last = last;
  co_await parts_->choose(now);
}

Range ServedWorker::part(std::uint32_t shard, Push& push) const {
  using Kind = GradientForm::Kind;
  const Range brought = parts_->packed(shard);
  push.form.kind = brought.n > Elements(0) ? Kind::Part : Kind::Nothing;
  return brought;
}

// A server that is new at the head of a shard has not seen the keys.
Task<TrainAnswer> ServedWorker::with_keys(std::uint32_t shard, TrainRequest request,
                                          TrainAnswer answer) {
  while (answer.header.outcome == RequestOutcome::KeysUnknown) {
    const Range brought = co_await parts_->packed_with_keys(shard);
    answer = co_await client_.call(request, brought, room(shard));
  }
  co_return answer;
}

// A worker sees its own updates, also those that the servers have not got yet.
Task<void> ServedWorker::add_what_waits(std::uint32_t shard) {
  if (!parts_->holds_back() || cuts_[shard].n == Elements(0)) co_return;
  const Rule plain;
  const UpdateStep step{eta_(had_[shard].version), 1,
                        options_.mean ? static_cast<double>(parts_->samples()) : 1};
  const UpdateTarget here{.w = of(replica_.parameters(), shard),
                          .g = parts_->waiting(shard),
                          .slots = Range(),
                          .at = cuts_[shard].at};
  const Sums none;
  co_await apply(node_.env, plain, step, here, none);
}

// ---- Encoded (ps/encoded_push.h)

Task<void> ServedWorker::encode() {
  const auto samples = static_cast<double>(replica_.ledger.samples_per_epoch());
  const double epoch = static_cast<double>(share_.epoch) + static_cast<double>(share_.at) / samples;
  as_it_is_ = epoch < options_.encode.after;
  if (!as_it_is_) co_await encoded_->encode(replica_.g().all(), samples_, clock_ + held_);
}

// ---- What waits

bool ServedWorker::holds_back() const {
  return (parts_ && parts_->holds_back()) || (encoded_ && encoded_->holds_back());
}

// There are no more samples for this worker: all that is left goes, in pushes of its own, each as
// large as the budget lets it be. They are of no share, and settle those before.
Task<void> ServedWorker::push_what_waits() {
  if (!parts_ && !encoded_) co_return;
  const std::uint64_t shares = clock_;
  // In step a push is in the parameters when these can be read; until then it is not given back.
  const bool reads = goes_by_steps(options_.ps.consistency);
  while (holds_back()) {
    held_ = 1;
    if (encoded_) {
      samples_ = encoded_->samples();
      co_await encoded_->release(replica_.g().all());
      as_it_is_ = true;
    } else {
      samples_ = parts_->samples();
      co_await choose_part(true);
    }
    const Visit pushes = [&](std::uint32_t k) { return push(k, false, reads); };
    co_await at_all_shards(pushes);
    clock_ += std::exchange(held_, 0);
    samples_ = 0;
  }
  settled_ = shares;
}

}  // namespace shoal
