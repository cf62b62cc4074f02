#include "decentral/mean_exchange.h"

#include <algorithm>
#include <array>
#include <utility>

#include "decentral/audit.h"
#include "decentral/rendezvous.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

constexpr std::size_t kNear = 2048;  // elements that stay in the nearest cache

}  // namespace

MeanExchange::MeanExchange(Node& node, const Learner& learner, const DecentralTerms& terms)
    : terms_(terms),
      sum_(node.endpoint, learner.layout().averaged(), learner.substance()),
      scratch_(node.endpoint, learner.layout().averaged(), learner.substance()) {
  if (terms.peering.late > 0)
    copied_.emplace(node.endpoint, learner.layout().averaged(), learner.substance());
  if (encodes(terms.encode)) differences_.emplace(node, learner, terms);
}

void MeanExchange::forget() {
  under_way_ = false;
  if (differences_) differences_->forget();
}

std::vector<OwnArray> MeanExchange::own() {
  return differences_ ? differences_->own() : std::vector<OwnArray>();
}

Task<bool> MeanExchange::after_step(Leg& leg, const Change& change) {
  const Peering& p = terms_.peering;
  const std::uint64_t since = leg.t().value() % p.tau;
  if (since == 0) co_await begin(leg);
  bool ended = false;
  if (since == p.late) ended = co_await end(leg, change);
  co_return ended;
}

Task<void> MeanExchange::begin(Leg& leg) {
  co_await copy(leg.env(), met(), leg.model());
  under_way_ = true;
  formed_ = false;
  leg.spawn(form(leg));
}

Task<void> MeanExchange::form(Leg& leg) {
  const Range sum = sum_.all();
  if (differences_) {
    co_await leg.company.with_others(
        differences_->form(leg.company, leg.t(), met(), sum, scratch_.all()));
  } else {
    co_await leg.company.with_others(
        sum_of_all(leg.company, terms_.exchange, met(), sum, scratch_.all()));
  }
  formed_ = true;
  changed_.notify_all();
}

Task<void> MeanExchange::until_formed() {
  while (!formed_) co_await changed_.wait();
}

Task<bool> MeanExchange::end(Leg& leg, const Change& change) {
  if (!std::exchange(under_way_, false)) co_return false;
  co_await leg.company.with_others(until_formed());
  co_await move(leg, change);
  co_return true;
}

Task<void> MeanExchange::move(Leg& leg, const Change& change) {
  const double part = differences_ ? 1 : 1 / static_cast<double>(leg.company.size());
  const auto scale = static_cast<float>(part);
  const std::span<float> w = leg.model().data();
  const std::span<float> sum = sum_.all().data();
  // At once, the model is still what was copied.
  const std::span<const float> copied = copied_ ? copied_->all().data() : w;
  Move told(leg);
  if (change) {  // What the system makes of the mean is no exchange.
    told.add(sum, part);
    told.add(copied, -1);
  } else {
    told.of(leg.model());
  }
  const bool late = terms_.peering.late > 0;
  const SliceWork work = [&](std::size_t from, std::size_t to) {
    std::array<float, kNear> mean;
    for (std::size_t at = from; at < to; at += kNear) {
      const std::size_t n = std::min(kNear, to - at);
      for (std::size_t i = 0; i < n; ++i) mean[i] = scale * sum[at + i];
      if (change) change(std::span(mean).first(n), at);
      if (!late) std::ranges::copy_n(mean.begin(), static_cast<std::ptrdiff_t>(n), &w[at]);
      for (std::size_t i = 0; late && i < n; ++i) w[at + i] += mean[i] - copied[at + i];
      if (differences_) std::ranges::copy_n(mean.begin(), static_cast<std::ptrdiff_t>(n), &sum[at]);
    }
  };
  const double cost = change ? 4 : 2;
  co_await in_slices(leg.env(), Work::Update, sum_.size().value(), w.empty(), Order::Forward, cost,
                     work);
  if (differences_) {
    co_await differences_->agree(leg.env(), sum_.all());
  } else {
    told.with_all(leg.t().value());
  }
}

}  // namespace shoal
