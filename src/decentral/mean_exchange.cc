#include "decentral/mean_exchange.h"

#include <utility>

#include "base/stream_copy.h"
#include "decentral/audit.h"
#include "decentral/rendezvous.h"
#include "runtime/slices.h"

namespace shoal {
MeanExchange::MeanExchange(Node& node, const Learner& learner, const DecentralTerms& terms)
    : terms_(terms), sum_(node, learner) {
  if (late()) copied_.emplace(node.endpoint, learner.layout().averaged(), learner.substance());
  if (encodes(terms.encode)) differences_.emplace(node, learner, terms);
}

void MeanExchange::forget() {
  under_way_ = false;
  if (differences_) differences_->forget();
}

std::vector<OwnArray> MeanExchange::own() {
  return differences_ ? differences_->own() : std::vector<OwnArray>();
}

// Steps are counted when they are done, and this one is not yet.
Task<void> MeanExchange::update(Leg& leg, const Change& change) {
  const std::uint64_t since = (leg.t().value() + 1) % terms_.peering.tau;
  Along along;
  if (late() && !terms_.audit && !differences_) {
    if (since == 0) {
      along.after = copy_part(leg);
      along.arrays = 1;
      copied_along_ = true;
    } else if (since == terms_.peering.late && under_way_) {
      co_await leg.company.with_others(until_formed());
      along.after = move_part(leg, change);
      along.arrays = arrays_of_move(change);
      moved_along_ = true;
    }
  }
  co_await leg.update(std::move(along));
}

Task<bool> MeanExchange::after_step(Leg& leg, const Change& change) {
  const Peering& p = terms_.peering;
  const std::uint64_t since = leg.t().value() % p.tau;
  if (since == 0) {
    if (late() && !std::exchange(copied_along_, false))
      co_await copy(leg.env(), copied_->all(), leg.model());
    under_way_ = true;
    formed_ = false;
    leg.spawn(form(leg));
  }
  bool ended = false;
  if (since == p.late) ended = co_await end(leg, change);
  co_return ended;
}

Task<void> MeanExchange::form(Leg& leg) {
  if (differences_) {
    co_await leg.company.with_others(
        differences_->form(leg.company, leg.t(), given(leg), sum_.all(), sum_.scratch()));
    sum_.is_mean();
  } else {
    co_await leg.company.with_others(sum_.form(leg.company, terms_.exchange, given(leg)));
  }
  formed_ = true;
  changed_.notify_all();
}

Task<void> MeanExchange::until_formed() {
  while (!formed_) co_await changed_.wait();
}

Task<bool> MeanExchange::end(Leg& leg, const Change& change) {
  if (!std::exchange(under_way_, false)) co_return false;
  if (!std::exchange(moved_along_, false)) {
    co_await leg.company.with_others(until_formed());
    co_await move(leg, change);
  }
  co_return true;
}

SliceWork MeanExchange::copy_part(Leg& leg) {
  const std::span<const float> w = leg.model().data();
  const std::span<float> to = copied_->all().data();
  return [w, to](std::size_t from, std::size_t end) {
    stream_copy(std::as_writable_bytes(to.subspan(from)).data(),
                std::as_bytes(w.subspan(from)).data(), (end - from) * sizeof(float));
  };
}

SliceWork MeanExchange::move_part(Leg& leg, const Change& change) {
  const std::span<const float> copied = late() ? copied_->all().data() : std::span<const float>();
  Met met = sum_.met(leg.model().data(), copied);
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

Task<void> MeanExchange::move(Leg& leg, const Change& change) {
  Move told(leg);
  if (change) {  // What the system makes of the mean is no exchange.
    sum_.each_term([&](std::span<const float> x, float weight) { told.add(x, weight); });
    told.add(given(leg).data(), -1);
  } else {
    told.of(leg.model());
  }
  const Range model = leg.model();
  co_await in_slices(leg.env(), Work::Update, model.n.value(), model.data().empty(), Order::Forward,
                     arrays_of_move(change) / 2 + 1, move_part(leg, change));
  if (differences_) {
    co_await differences_->agree(leg.env(), sum_.all());
  } else {
    told.with_all(leg.t().value());
  }
}

}  // namespace shoal
