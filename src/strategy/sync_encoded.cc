// Synchronous steps whose gradients are encoded on their way.
#include "encoded/all_reduce.h"
#include "strategy/sync_step.h"

namespace shoal {
namespace {

// Of the corrected momentum, as in the paper (codec/dgc.h).
constexpr double kMomentum = 0.9;

}  // namespace

void SyncStep::begin_encoding(const Group& group) {
  const Encode& encode = options_.recipe.encode;
  if (!encodes(options_.recipe)) return;
  const Share& first = lots_.front().shares.front();
  const auto samples = static_cast<double>(replica_.ledger.samples_per_epoch());
  const double epoch = static_cast<double>(first.epoch) + static_cast<double>(first.at) / samples;
  plain_ = epoch < encode.after;
  if (encode.as.kind == Encoding::Kind::Powersgd) {
    if (!low_rank_)
      low_rank_.emplace(node_.endpoint, encode.as, node_.env.seed(), learner_.layout(),
                        learner_.substance());
    // All members have the same factors to begin with, whoever came.
    if (std::exchange(encoded_in_, group.view->generation) != group.view->generation)
      low_rank_->begin_view(group.view->generation);
    low_rank_->begin();
    return;
  }
  if (!encoder_) {
    const double momentum = encode.as.kind == Encoding::Kind::Dgc ? kMomentum : 0;
    const EncoderOptions options{encode.as, node_.env.seed(), momentum};
    encoder_.emplace(node_.endpoint, options, learner_.pieces(), learner_.substance());
  }
  form_ = encode.by == EncodedForm::Auto ? form_for(encode.as, group.size()) : encode.by;
  encoder_->begin(replica_.step, epoch - encode.after, group.rank);
}

// Gradients are encoded where backward makes them, where all of each is sent to everyone.
Encoder* SyncStep::sink(const Group& group, std::size_t passes) {
  const bool whole = form_ == EncodedForm::Gather || form_ == EncodedForm::Sparse;
  if (!encoder_ || plain_ || group.size() == 1 || passes > 1 || !whole) return nullptr;
  return &*encoder_;
}

Task<void> SyncStep::reduce_encoded(const Group& group, Range g, std::uint64_t number) {
  Exchange factors = options_.recipe.exchange;
  if (factors == Exchange::Auto) factors = Exchange::Direct;
  if (group.size() == 1) {
    co_await node_.env.work(Work::Reduce, g.n, [&] {
      if (low_rank_) low_rank_->keep(g);
      if (encoder_) encoder_->keep(g);
    });
  } else if (low_rank_) {
    co_await low_rank_->all_reduce(factors, group, g, number);
  } else {
    co_await encoded_all_reduce(form_, group, *encoder_, g, number);
  }
}

void SyncStep::commit_encoding() {
  if (low_rank_) low_rank_->commit();
  if (encoder_) encoder_->commit();
}

}  // namespace shoal
