#include "decentral/mean_exchange.h"

#include <utility>

#include "base/stream_copy.h"
#include "decentral/algorithm.h"
#include "decentral/audit.h"
#include "runtime/slices.h"

namespace shoal {
MeanExchange::MeanExchange(Node& node, const Learner& learner, const DecentralTerms& terms,
                           std::uint32_t local_steps, std::uint32_t overlap_steps)
    : terms_(terms), local_steps_(local_steps), overlap_steps_(overlap_steps), sum_(node, learner) {
  if (late()) copied_.emplace(node.endpoint, learner.layout().averaged(), learner.substance());
  if (encodes(terms.recipe.encode)) differences_.emplace(node, learner, terms);
}

void MeanExchange::forget() {
  under_way_ = false;
  if (differences_) differences_->forget();
}

std::vector<PerWorkerArray> MeanExchange::own() {
  return differences_ ? differences_->own() : std::vector<PerWorkerArray>();
}

// The count of steps does not include this one yet.
Task<void> MeanExchange::update(TrainingRound& round, const Change& change) {
  const std::uint64_t since = (round.t().value() + 1) % local_steps_;
  FusedPass fused;
  if (late() && !terms_.task.audit && !differences_) {
    if (since == 0) {
      fused.after = copy_part(round);
      fused.arrays = 1;
      copied_along_ = true;
    } else if (since == overlap_steps_ && under_way_) {
      co_await round.context.with_others(until_formed());
      fused.after = move_part(round, change);
      fused.arrays = arrays_of_move(change);
      moved_along_ = true;
    }
  }
  co_await round.update(std::move(fused));
}

Task<bool> MeanExchange::after_step(TrainingRound& round, const Change& change) {
  const std::uint64_t since = round.t().value() % local_steps_;
  if (since == 0) {
    if (late() && !std::exchange(copied_along_, false))
      co_await copy(round.env(), copied_->all(), round.model());
    under_way_ = true;
    formed_ = false;
    round.spawn(form(round));
  }
  bool ended = false;
  if (since == overlap_steps_) ended = co_await end(round, change);
  co_return ended;
}

Task<void> MeanExchange::form(TrainingRound& round) {
  if (differences_) {
    co_await round.context.with_others(
        differences_->form(round.context, round.t(), given(round), sum_.all(), sum_.scratch()));
    sum_.is_mean();
  } else {
    co_await round.context.with_others(
        sum_.form(round.context, terms_.recipe.exchange, given(round)));
  }
  formed_ = true;
  changed_.notify_all();
}

Task<void> MeanExchange::until_formed() {
  while (!formed_) co_await changed_.wait();
}

Task<bool> MeanExchange::end(TrainingRound& round, const Change& change) {
  if (!std::exchange(under_way_, false)) co_return false;
  if (!std::exchange(moved_along_, false)) {
    co_await round.context.with_others(until_formed());
    co_await move(round, change);
  }
  co_return true;
}

SliceWork MeanExchange::copy_part(TrainingRound& round) {
  const std::span<const float> w = round.model().data();
  const std::span<float> to = copied_->all().data();
  return [w, to](std::size_t from, std::size_t end) {
    stream_copy(std::as_writable_bytes(to.subspan(from)).data(),
                std::as_bytes(w.subspan(from)).data(), (end - from) * sizeof(float));
  };
}

SliceWork MeanExchange::move_part(TrainingRound& round, const Change& change) {
  const std::span<const float> copied = late() ? copied_->all().data() : std::span<const float>();
  Met met = sum_.met(round.model().data(), copied);
  if (differences_) met.agreed = sum_.all().data().data();
  return [met, &change](std::size_t from, std::size_t to) {
    if (change) {
      change(met.from(from), from, to - from);
    } else {
      move_to_mean(met.from(from), to - from);
    }
  };
}

double MeanExchange::arrays_of_move(const Change& change) const {
  return sum_.arrays() + (late() ? 1 : 0) + (change ? 4 : 0);
}

Task<void> MeanExchange::move(TrainingRound& round, const Change& change) {
  ConservationProbe told(round);
  if (change) {  // The change that the algorithm makes of the mean is not part of the exchange.
    sum_.each_term([&](std::span<const float> x, float weight) { told.add(x, weight); });
    told.add(given(round).data(), -1);
  } else {
    told.of(round.model());
  }
  const Range model = round.model();
  co_await in_slices(round.env(), Work::Update, model.n.value(), model.data().empty(),
                     Order::Forward, arrays_of_move(change) / 2 + 1, move_part(round, change));
  if (differences_) {
    co_await differences_->agree(round.env(), sum_.all());
  } else {
    told.with_all(round.t().value());
  }
}

}  // namespace shoal
