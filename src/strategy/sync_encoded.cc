// Synchronous steps whose gradients are encoded on their way.
#include "encoded/all_reduce.h"
#include "strategy/sync_step.h"

namespace shoal {

void SyncStep::begin_encoding(const Group& group) {
  const Encode& encode = options_.recipe.encode;
  if (!shoal::encodes(options_.recipe)) return;
  if (!encoder_) {
    const double momentum = encode.as.kind == Encoding::Kind::Dgc ? 0.9 : 0;
    const EncoderOptions options{encode.as, node_.env.seed(), momentum};
    encoder_.emplace(node_.endpoint, options, learner_.pieces(), learner_.substance());
  }
  form_ = encode.by == EncodedForm::Auto ? form_for(encode.as, group.size()) : encode.by;
  const Share& first = lots_.front().shares.front();
  const auto samples = static_cast<double>(replica_.ledger.samples_per_epoch());
  const double epoch = static_cast<double>(first.epoch) + static_cast<double>(first.at) / samples;
  plain_ = epoch < encode.after;
  encoder_->begin(replica_.step, epoch - encode.after, group.rank);
}

// Gradients are encoded where backward makes them, where all of each is sent to everyone.
Encoder* SyncStep::sink(const Group& group, std::size_t passes) {
  const bool whole = form_ == EncodedForm::Gather || form_ == EncodedForm::Sparse;
  if (!encoder_ || plain_ || group.size() == 1 || passes > 1 || !whole) return nullptr;
  return &*encoder_;
}

Task<void> SyncStep::reduce_encoded(const Group& group, Range g, std::uint64_t number) {
  if (group.size() == 1) {
    co_await node_.env.work(Work::Reduce, g.n, [&] { encoder_->keep(g); });
    co_return;
  }
  co_await encoded_all_reduce(form_, group, *encoder_, g, number);
}

}  // namespace shoal
