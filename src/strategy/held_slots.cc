#include "strategy/held_slots.h"

#include <bit>
#include <utility>

#include "base/hash.h"
#include "runtime/slices.h"

namespace shoal {

void HeldSlots::begin_view(Cuts parts, Rank own) {
  SHOAL_CHECK(there_.empty(), "slots of the view before are still held");
  parts_ = std::move(parts);
  own_ = own;
  prepared_ = false;
  there_.resize(parts_.size());
  if (!held()) return;
  for (std::optional<Arena>& turn : turns_) {
    const Elements n = own_n() * each_;
    if (!turn || turn->size() != n) turn.emplace(node_.endpoint, n, substance_);
  }
}

Range HeldSlots::whole(Rank owner, unsigned slot) {
  const Cut& part = parts_[owner.value()];
  return replica_.slots().slice(replica_.N * slot + part.at, part.n);
}

Bytes HeldSlots::size_of(Rank owner) const {
  return Bytes(parts_[owner.value()].n.value() * each_ * sizeof(float));
}

bool HeldSlots::elsewhere(Rank owner) const {
  return owner == own_ ? prepared_ : there_[owner.value()].has_value();
}

const float* HeldSlots::place(Rank owner, unsigned slot) {
  if (!elsewhere(owner)) return whole(owner, slot).data().data();
  const float* const all = owner == own_
                               ? now().data().data()
                               : reinterpret_cast<const float*>(there_[owner.value()]->data().data);
  return all == nullptr ? nullptr : all + slot * parts_[owner.value()].n.value();
}

Task<void> HeldSlots::prepare() {
  if (prepared_) co_return;
  for (unsigned s = 0; s < each_; ++s)
    co_await shoal::copy(node_.env, now().slice(own_n() * s, own_n()), whole(own_, s));
  prepared_ = true;
}

Task<void> HeldSlots::copy(Rank owner) {
  if (!elsewhere(owner)) co_return;
  for (unsigned s = 0; s < each_; ++s)
    co_await shoal::copy(node_.env, whole(owner, s), place(owner, s));
}

Task<void> HeldSlots::take_over(Rank owner) {
  co_await copy(owner);
  there_[owner.value()].reset();
}

Task<void> HeldSlots::gather() {
  for (std::uint32_t r = 0; r < parts_.size(); ++r) co_await copy(Rank(r));
}

void HeldSlots::release() {
  there_.clear();
  parts_.clear();
}

std::uint64_t HeldSlots::hash() {
  Hash hash;
  const auto add = [&](const float* from, Elements n) {
    for (std::size_t i = 0; from != nullptr && i < n.value(); ++i)
      hash.add(std::bit_cast<std::uint32_t>(from[i]));
  };
  if (!held()) add(replica_.slots().data().data(), replica_.slots().n);
  for (unsigned s = 0; held() && s < each_; ++s)
    for (std::uint32_t r = 0; r < parts_.size(); ++r) add(place(Rank(r), s), parts_[r].n);
  return hash.value();
}

}  // namespace shoal
