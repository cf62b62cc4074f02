// Synchronous steps whose gradients are encoded on their way.
#include <algorithm>

#include "collective/reduce.h"
#include "collective/steps.h"
#include "encoded/all_reduce.h"
#include "encoded/choice.h"
#include "sync/sync_step.h"

namespace shoal {
namespace {

// Of the corrected momentum, as in the paper (codec/dgc.h).
constexpr double kMomentum = 0.9;

// In checkpoints.
constexpr const char* kResidual = "residual";
constexpr const char* kVelocity = "velocity";

// When the choice of encodings is made anew: after so many steps in a row that took so much longer
// or shorter than the shortest of the first ones.
constexpr std::uint64_t kFirstSteps = 3;
constexpr std::uint64_t kSettled = 20;
constexpr std::uint64_t kOddSteps = 8;
constexpr double kSlower = 1.5;

}  // namespace

void SyncStep::make_encoder() {
  const Encode& encode = options_.recipe.encode;
  if (!encodes(options_.recipe) || chooses_encoding() || sends_factors(encode)) return;
  if (traits(encode.as).rank > 0) {
    low_rank_.emplace(node_.endpoint, encode.as, node_.env.seed(), learner_.layout(),
                      learner_.substance());
    return;
  }
  const double momentum = traits(encode.as).gathers_momentum ? kMomentum : 0;
  const EncoderOptions options{encode.as, node_.env.seed(), momentum};
  encoder_.emplace(node_.endpoint, options, learner_.pieces(), learner_.substance());
  if (!encode.layers.empty()) encoder_->choose(encodings_of(encode, learner_));
}

// ---- Auto: what pays

bool SyncStep::chooses_encoding() const { return traits(options_.recipe.encode.as).chooses; }

Task<std::string> SyncStep::choose_encodings(const Group& group, bool anew) {
  const std::uint64_t operation = shoal::operation(operations::kChoices, replica_.step);
  links_.emplace(node_.endpoint, learner_.substance());
  EncodingCosts costs;
  costs.shape = shape_of(group);
  if (anew) {
    costs.links = co_await measure_links(group, *links_, operation);
  } else {
    costs.links = co_await known_links(group, *links_, "links", operation);
  }
  // A phantom's codecs take as long an element whatever the number.
  const Elements n = learner_.substance() == Substance::Real ? replica_.N : Elements(0);
  costs.codecs = co_await measure_codecs(group, speeds_gathering_, n, operation + 1);
  const Cuts pieces = learner_.pieces();
  const std::vector<Encoding> chosen = shoal::choose_encodings(costs, pieces);
  const bool some = std::ranges::any_of(chosen, [](const Encoding& e) { return e != Encoding(); });
  chosen_in_ = replica_.step;
  odd_steps_ = 0;
  // Where somebody has encoded before, something may wait to be sent, and all go on with it: also
  // those who came since, and have nothing.
  const std::uint64_t own = encoder_ ? 1 : 0;
  const std::vector<std::uint64_t> before =
      co_await speeds_gathering_.of_all(group, own, operation + 2);
  if (!some && std::ranges::count(before, 1U) == 0) co_return explain(costs, pieces);
  if (!encoder_) {
    const EncoderOptions options{parse_encoding("onebit+ef"), node_.env.seed()};
    encoder_.emplace(node_.endpoint, options, pieces, learner_.substance());
  }
  encoder_->choose(chosen);
  updater_ = Updater::Everyone;
  co_return explain(costs, pieces);
}

// All members know how long the longest step was: whether links have changed is the same question
// for all of them.
void SyncStep::watch_links(Duration longest) {
  if (!chooses_encoding()) return;
  const double took = seconds(longest);
  const std::uint64_t since = (replica_.step - chosen_in_).value();
  if (since < kSettled) {
    usual_s_ = since < kFirstSteps ? took : std::min(usual_s_, took);
    odd_steps_ = 0;
    return;
  }
  const bool odd = took > kSlower * usual_s_ || kSlower * took < usual_s_;
  odd_steps_ = odd ? odd_steps_ + 1 : 0;
}

bool SyncStep::links_changed() const { return odd_steps_ >= kOddSteps; }

// ---- What waits

std::vector<PerWorkerArray> SyncStep::own() {
  std::vector<PerWorkerArray> arrays;
  if (low_rank_) arrays.push_back({kResidual, low_rank_->residual()});
  if (!encoder_ || encoder_->residual().n == Elements(0)) return arrays;
  arrays.push_back({kResidual, encoder_->residual()});
  arrays.push_back({kVelocity, encoder_->velocity()});
  return arrays;
}

void SyncStep::inherit(std::span<const KeptArray> kept, const View& view) {
  for (const PerWorkerArray& own : this->own())
    for (const KeptArray& one : kept) {
      const bool here = view.find(one.node) != nullptr;
      const std::span<float> to = own.range.data();
      const std::span<const float> from = floats(one.numbers);
      if (!here && one.name == own.name && from.size() == to.size()) add(to, from);
    }
}

void SyncStep::begin_encoding(const Group& group) {
  const Encode& encode = options_.recipe.encode;
  if (!encodes(options_.recipe)) return;
  const Share& first = micro_shards_.front().shares.front();
  const auto samples = static_cast<double>(replica_.ledger.samples_per_epoch());
  const double epoch = static_cast<double>(first.epoch) + static_cast<double>(first.at) / samples;
  plain_ = epoch < encode.after;
  form_ = form_of(encode, group.size());
  if (chooses_encoding() && group.size() > 2) form_ = EncodedForm::Direct;
  if (encoder_) {
    encoder_->begin(replica_.step, epoch - encode.after, group.rank);
    const double norm = options_.local_clip * static_cast<double>(batch_);
    if (norm > 0) encoder_->clip(norm, group.size());
  }
  if (!low_rank_) return;
  // All members have the same factors to begin with, whoever came.
  if (std::exchange(encoded_in_, group.view->generation) != group.view->generation)
    low_rank_->begin_view(group.view->generation);
  low_rank_->begin();
}

// Gradients are encoded where backward makes them, where all of each is sent to everyone.
Encoder* SyncStep::sink(const Group& group, std::size_t passes) {
  if (!encoder_ || plain_ || group.size() == 1 || passes > 1 || !encodes_whole(form_))
    return nullptr;
  encoder_->prepare_to_take();
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
