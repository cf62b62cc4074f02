#include "decentral/mean_exchange.h"

#include "decentral/rendezvous.h"

namespace shoal {

Task<void> MeanExchange::after_step(Leg& leg, const Change& change) {
  const Peering& p = terms_.peering;
  const std::uint64_t t = leg.t().value();
  if (t % p.tau == 0) {
    co_await copy(leg.env(), copied_.all(), leg.model());
    under_way_ = true;
    formed_ = false;
    leg.spawn(form(leg));
  }
  if (t % p.tau == p.late) co_await end(leg, change);
}

Task<void> MeanExchange::form(Leg& leg) {
  co_await leg.company.with_others(
      mean_of_all(leg.company, terms_.exchange, copied_.all(), mean_.all(), scratch_.all()));
  formed_ = true;
  changed_.notify_all();
}

Task<void> MeanExchange::until_formed() {
  while (!formed_) co_await changed_.wait();
}

Task<void> MeanExchange::end(Leg& leg, const Change& change) {
  if (!under_way_) co_return;
  under_way_ = false;
  co_await leg.company.with_others(until_formed());
  if (change) co_await change(leg, mean_.all());
  if (terms_.peering.late == 0) {
    co_await copy(leg.env(), leg.model(), mean_.all());
  } else {
    co_await mix(leg.env(), mean_.all(), 1, copied_.all(), -1);
    co_await mix(leg.env(), leg.model(), 1, mean_.all(), 1);
  }
}

}  // namespace shoal
