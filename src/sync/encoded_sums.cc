#include "sync/encoded_sums.h"

#include <utility>

#include "collective/reduce.h"
#include "collective/steps.h"
#include "encoded/all_reduce.h"

namespace shoal {
namespace {

// The coefficient of the corrected momentum, as in the paper (codec/dgc.h).
constexpr double kMomentum = 0.9;

// In checkpoints.
constexpr const char* kResidual = "residual";
constexpr const char* kVelocity = "velocity";

}  // namespace

EncodedSums::EncodedSums(Node& node, Learner& learner, const Replica& replica,
                         const SyncContext& context, const Dealing& dealing)
    : node_(node), learner_(learner), replica_(replica), context_(context), dealing_(dealing) {
  const Encode& encode = context_.recipe.encode;
  if (!encodes(encode) || is_open() || sends_factors(encode)) return;
  if (traits(encode.as).rank > 0) {
    low_rank_.emplace(node_.endpoint, encode.as, node_.env.seed(), learner_.layout(),
                      learner_.substance());
    return;
  }
  const double momentum = traits(encode.as).gathers_momentum ? kMomentum : 0;
  const EncoderOptions as{encode.as, node_.env.seed(), momentum};
  encoder_.emplace(node_.endpoint, as, learner_.pieces(), learner_.substance());
  if (!encode.layers.empty()) encoder_->choose(encodings_of(encode, learner_));
}

bool EncodedSums::is_open() const { return traits(context_.recipe.encode.as).chooses; }

void EncodedSums::choose(std::span<const Encoding> of_pieces) {
  if (!encoder_) {
    const EncoderOptions as{parse_encoding("onebit+ef"), node_.env.seed()};
    encoder_.emplace(node_.endpoint, as, learner_.pieces(), learner_.substance());
  }
  encoder_->choose(of_pieces);
}

void EncodedSums::begin_step(const Group& group) {
  const Encode& encode = context_.recipe.encode;
  if (!encodes(encode)) return;
  const Share& first = dealing_.micro_shards().front().shares.front();
  const auto samples = static_cast<double>(replica_.ledger.samples_per_epoch());
  const double epoch = static_cast<double>(first.epoch) + static_cast<double>(first.at) / samples;
  later_ = epoch < encode.after;
  form_ = form_of(encode, group.size());
  if (is_open() && group.size() > 2) form_ = EncodedForm::Direct;
  if (encoder_) {
    encoder_->begin(replica_.step, epoch - encode.after, group.rank);
    const double norm = context_.local_clip * static_cast<double>(dealing_.batch());
    if (norm > 0) encoder_->clip(norm, group.size());
  }
  if (!low_rank_) return;
  // All members begin a view with the same factors, newcomers too.
  if (std::exchange(low_rank_in_, group.view->generation) != group.view->generation)
    low_rank_->begin_view(group.view->generation);
  low_rank_->begin();
}

// The backward pass encodes if each member sends one whole message to all others.
Encoder* EncodedSums::sink(const Group& group, std::size_t passes) {
  if (!encoder_ || later_ || group.size() == 1 || passes > 1 || !encodes_whole(form_))
    return nullptr;
  encoder_->prepare_to_take();
  return &*encoder_;
}

Task<void> EncodedSums::all_reduce(const Group& group, Range g, std::uint64_t operation) {
  Exchange factors = context_.recipe.exchange;
  if (factors == Exchange::Auto) factors = Exchange::Direct;
  if (group.size() == 1) {
    co_await node_.env.work(Work::Reduce, g.n, [&] {
      if (low_rank_) low_rank_->keep(g);
      if (encoder_) encoder_->keep(g);
    });
  } else if (low_rank_) {
    co_await low_rank_->all_reduce(factors, group, g, operation);
  } else {
    co_await encoded_all_reduce(form_, group, *encoder_, g, operation);
  }
}

void EncodedSums::commit() {
  if (!active()) return;
  if (low_rank_) low_rank_->commit();
  if (encoder_) encoder_->commit();
}

std::vector<PerWorkerArray> EncodedSums::per_worker_state() {
  std::vector<PerWorkerArray> arrays;
  if (low_rank_) arrays.push_back({kResidual, low_rank_->residual()});
  if (!encoder_ || encoder_->residual().n == Elements(0)) return arrays;
  arrays.push_back({kResidual, encoder_->residual()});
  arrays.push_back({kVelocity, encoder_->velocity()});
  return arrays;
}

void EncodedSums::inherit(std::span<const KeptArray> kept, const View& view) {
  for (const PerWorkerArray& own : per_worker_state())
    for (const KeptArray& one : kept) {
      const bool here = view.find(one.node) != nullptr;
      const std::span<float> to = own.range.data();
      const std::span<const float> from = floats(one.numbers);
      if (!here && one.name == own.name && from.size() == to.size()) add(to, from);
    }
}

}  // namespace shoal
