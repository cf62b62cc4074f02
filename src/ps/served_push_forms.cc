#include "ps/served_push_forms.h"

#include <algorithm>
#include <utility>

#include "optim/update.h"

namespace shoal {

PushForms::PushForms(ServedContext& worker)
    : worker_(worker), factors_(worker.cuts.size()), packed_(worker.cuts.size()) {
  Learner& learner = worker.learner;
  if (shoal::in_parts(worker.recipe.ps))
    parts_.emplace(worker.node, worker.recipe.ps, worker.cuts, learner.substance(), worker.mean);
  if (shoal::encodes(worker.recipe.encode))
    encoded_.emplace(worker.node, learner.pieces(), encodings_of(worker.recipe.encode, learner),
                     worker.cuts, learner.substance());
}

// ---- Factors (factored.h)

Task<void> PushForms::take_layers(Channel<Ready>& ready) {
  layers_.clear();
  while (true) {
    std::optional<Ready> bucket = co_await ready.next();
    if (!bucket) break;
    if (bucket->factors) layers_.push_back({bucket->at, *bucket->factors});
  }
  std::ranges::sort(layers_, {}, &Layer::at);
}

// In memory that stays: a server that counts as lost may still read it.
Task<void> PushForms::pack_factors(std::uint32_t shard) {
  const ShardCut& cut = worker_.cuts[shard];
  std::vector<float> words;
  co_await worker_.node.env.work(
      Work::Copy, cut.n, [&] { words = pack(cut, worker_.replica.g().all().data(), layers_); });
  std::optional<Arena>& there = factors_[shard];
  if (!there)
    there.emplace(worker_.node.endpoint, packed_most(cut, layers_.size()), Substance::Real);
  packed_[shard] = there->range(Elements(0), Elements(words.size()));
  std::ranges::copy(words, packed_[shard].data().begin());
}

// ---- Parts (partial_push.h)

Task<void> PushForms::choose_part(std::uint64_t version, bool last) {
  const ServedProgress& progress = worker_.progress;
  if (!last) co_await parts_->add(worker_.replica.g().all(), progress.samples);
  PartialPush::Now now;
  now.w = worker_.replica.parameters();
  now.eta = worker_.eta(version);
  now.t = progress.clock + progress.held;
  now.last = last;
  co_await parts_->choose(now);
}

// A server that is new at the head of a shard does not have the keys.
Task<TrainAnswer> PushForms::with_keys(TrainRequest request, TrainAnswer answer) {
  const std::uint32_t shard = request.header.shard;
  while (answer.header.outcome == RequestOutcome::KeysUnknown) {
    const Range brought = co_await parts_->packed_with_keys(shard);
    answer = co_await worker_.client.call(request, brought, worker_.room(shard));
  }
  co_return answer;
}

Task<void> PushForms::add_waiting(std::uint32_t shard, std::uint64_t version) {
  if (!parts_->holds_back() || worker_.cuts[shard].n == Elements(0)) co_return;
  const Rule plain;
  const UpdateStep step{worker_.eta(version), 1,
                        worker_.mean ? static_cast<double>(parts_->samples()) : 1};
  const UpdateTarget here{.w = worker_.of(worker_.replica.parameters(), shard),
                          .g = parts_->waiting(shard),
                          .slots = Range(),
                          .at = worker_.cuts[shard].at};
  const Sums none;
  co_await apply(worker_.node.env, plain, step, here, none);
}

// ---- Encoded (encoded_push.h)

Task<void> PushForms::encode(const Share& share) {
  const ServedProgress& progress = worker_.progress;
  const auto samples = static_cast<double>(worker_.replica.ledger.samples_per_epoch());
  const double epoch = static_cast<double>(share.epoch) + static_cast<double>(share.at) / samples;
  plain_ = epoch < worker_.recipe.encode.after;
  if (!plain_)
    co_await encoded_->encode(worker_.replica.g().all(), progress.samples,
                              progress.clock + progress.held);
}

// ---- All forms

Range PushForms::brought(std::uint32_t shard, GradientForm& form) const {
  using Kind = GradientForm::Kind;
  Range range = worker_.of(worker_.replica.g().all(), shard);
  if (factored()) {
    range = packed_[shard];
    form.kind = Kind::Factored;
  }
  if (parts_) {
    range = parts_->packed(shard);
    form.kind = range.n > Elements(0) ? Kind::Part : Kind::Nothing;
  }
  if (encoded_ && !plain_) {
    range = encoded_->packed(shard);
    form.kind = Kind::Encoded;
  }
  return range;
}

bool PushForms::holds_back() const {
  return (parts_ && parts_->holds_back()) || (encoded_ && encoded_->holds_back());
}

Task<void> PushForms::release(std::uint64_t version) {
  if (encoded_) {
    worker_.progress.samples = encoded_->samples();
    plain_ = true;
    return encoded_->release(worker_.replica.g().all());
  }
  worker_.progress.samples = parts_->samples();
  return choose_part(version, true);
}

}  // namespace shoal
