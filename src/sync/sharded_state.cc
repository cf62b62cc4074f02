#include "sync/sharded_state.h"

#include <bit>
#include <utility>

#include "base/hash.h"
#include "runtime/slices.h"

namespace shoal {
namespace {

constexpr Elements kLargePage{(2U << 20U) / sizeof(float)};

}  // namespace

void ShardedState::begin_view(Cuts parts, Rank own, bool parameters) {
  SHOAL_CHECK(there_.empty(), "parts of the view before are still held");
  parts_ = std::move(parts);
  own_ = own;
  parameters_ = parameters;
  prepared_ = false;
  there_.resize(parts_.size());
  if (!held()) return;
  // The part has the same offset in a large page as in the whole, so that others can map it in
  // large pages.
  before_own_ = Elements(0);
  if (parameters_ && own_n() >= kLargePage)
    before_own_ = Elements(parts_[own_.value()].at.value() % kLargePage.value());
  for (std::optional<Arena>& turn : turns_) {
    const Elements n = before_own_ + own_n() * arrays();
    if (!turn || turn->size() != n) turn.emplace(node_.endpoint, n, substance_);
  }
  for (std::optional<StitchedView>& seen : seen_)
    if (parameters_ && !seen) seen.emplace(replica_.N, substance_);
}

ShardedState::Part ShardedState::part_of_turn(std::size_t turn) {
  const Range all = turns_[turn]->range(before_own_, own_n() * arrays());
  const Elements of_w = parameters_ ? own_n() : Elements(0);
  return {all.slice(Elements(0), of_w), all.slice(of_w, all.n - of_w), all};
}

Range ShardedState::whole(Rank owner, unsigned array) {
  const Cut& part = parts_[owner.value()];
  if (parameters_ && array == 0) return cut_of(replica_.whole_w(), part);
  const unsigned slot = array - (parameters_ ? 1 : 0);
  return replica_.slots().slice(replica_.N * slot + part.at, part.n);
}

Bytes ShardedState::size_of(Rank owner) const {
  return Bytes(parts_[owner.value()].n.value() * arrays() * sizeof(float));
}

bool ShardedState::elsewhere(Rank owner) const {
  return owner == own_ ? prepared_ : there_[owner.value()].has_value();
}

const float* ShardedState::place(Rank owner, unsigned array) {
  if (!elsewhere(owner)) return whole(owner, array).data().data();
  const float* const all = owner == own_
                               ? now().all.data().data()
                               : reinterpret_cast<const float*>(there_[owner.value()]->data().data);
  return all == nullptr ? nullptr : all + array * parts_[owner.value()].n.value();
}

Task<void> ShardedState::prepare() {
  if (prepared_) co_return;
  for (unsigned a = 0; a < arrays(); ++a)
    co_await shoal::copy(node_.env, now().all.slice(own_n() * a, own_n()), whole(own_, a));
  prepared_ = true;
}

Task<void> ShardedState::took(Rank owner, Reading& there) {
  if (parameters_)
    co_await seen_[turn_]->set(node_, parts_[owner.value()],
                               reinterpret_cast<const float*>(there.data().data));
  there_[owner.value()] = std::move(there);
}

Task<void> ShardedState::see() {
  if (!parameters_) co_return;
  co_await seen_[turn_]->set(node_, parts_[own_.value()], now().w.data().data());
  replica_.see(seen_[turn_]->all());
}

Task<void> ShardedState::copy(Rank owner) {
  if (!elsewhere(owner)) co_return;
  for (unsigned a = 0; a < arrays(); ++a)
    co_await shoal::copy(node_.env, whole(owner, a), place(owner, a));
}

Task<void> ShardedState::take_over(Rank owner) {
  co_await copy(owner);
  there_[owner.value()].reset();
}

Task<void> ShardedState::gather() {
  for (std::uint32_t r = 0; r < parts_.size(); ++r) co_await copy(Rank(r));
  replica_.see_whole();
}

void ShardedState::release() {
  there_.clear();
  parts_.clear();
  for (std::optional<StitchedView>& seen : seen_)
    if (seen) seen->forget();
}

std::uint64_t ShardedState::hash_of_slots() {
  Hash hash;
  const auto add = [&](const float* from, Elements n) {
    for (std::size_t i = 0; from != nullptr && i < n.value(); ++i)
      hash.add(std::bit_cast<std::uint32_t>(from[i]));
  };
  if (!held()) add(replica_.slots().data().data(), replica_.slots().n);
  const unsigned first = parameters_ ? 1 : 0;
  for (unsigned a = first; held() && a < first + slots_each_; ++a)
    for (std::uint32_t r = 0; r < parts_.size(); ++r) add(place(Rank(r), a), parts_[r].n);
  return hash.value();
}

}  // namespace shoal
