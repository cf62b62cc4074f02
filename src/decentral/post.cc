#include "decentral/post.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "decentral/rendezvous.h"

namespace shoal {

std::span<const float> Letter::numbers(Elements n) const {
  require_size(what, Bytes(n.value() * sizeof(float)));
  return room->range(Elements(0), n).data();
}

// Whoever audits sees that all that is sent comes, once and as it was.
void Post::note(Leg& leg, EventKind kind, NodeId peer, ConstBuf what) const {
  if (!leg.terms.audit || what.phantom()) return;
  Event event = leg.company.event(kind, peer);
  event.a = kind_;
  event.b = hash_of(what.bytes());
  leg.env().record(event);
}

void Post::begin(const Company& company) {
  sent_.assign(company.size(), 0);
  received_.assign(company.size(), 0);
  sending_.assign(company.size(), 0);
  // Those of the view before are retired.
  for (Outgoing& letter : outgoing_) letter.readers = 0;
}

void Post::listen(Leg& leg, Keep keep) {
  keep_ = keep;
  leg.spawn(take(leg));
}

Task<void> Post::take(Leg& leg) {
  const Match match{.tag = leg.company.tag(kind_)};
  while (true) {
    Reading message = co_await leg.company.read(match);
    const std::optional<Rank> rank = leg.company.group.view->rank_of(message.from());
    if (!rank) continue;
    const Elements n(message.size().value() / sizeof(float));
    if (n > n_) require_size(message, Bytes(n_.value() * sizeof(float)));
    const Received what{message.from(), message.id(), message.size()};
    std::shared_ptr<Arena> room = free_room();
    co_await copy(leg.env(), room->range(Elements(0), n), numbers_of(message, n));
    ++received_[rank->value()];
    note(leg, EventKind::LetterTaken, what.from, room->range(Elements(0), n).bytes());
    if (keep_ == Keep::Newest)
      std::erase_if(came_, [&](const Letter& letter) { return letter.from == *rank; });
    came_.push_back({*rank, what, std::move(room)});
    changed_.notify_all();
  }
}

std::shared_ptr<Arena> Post::free_room() {
  for (const std::shared_ptr<Arena>& room : rooms_)
    if (room.use_count() == 1) return room;
  return rooms_.emplace_back(std::make_shared<Arena>(n_, substance_));
}

// ---- Sending

Post::Outgoing& Post::blank() {
  const auto free =
      std::ranges::find_if(outgoing_, [](const Outgoing& o) { return o.readers == 0; });
  Outgoing& letter =
      free == outgoing_.end() ? outgoing_.emplace_back(node_.endpoint, n_, substance_) : *free;
  letter.readers = 1;  // whoever writes it
  return letter;
}

void Post::send(Leg& leg, std::span<const Rank> to, Outgoing& letter, Elements n) {
  letter.readers = to.size();
  for (const Rank r : to) {
    ++sent_[r.value()];
    ++sending_[r.value()];
    note(leg, EventKind::LetterSent, leg.company.group.view->at(r),
         letter.arena.range(Elements(0), n).bytes());
    leg.spawn(deliver(leg, r, letter, n));
  }
}

Task<void> Post::deliver(Leg& leg, Rank to, Outgoing& letter, Elements n) {
  co_await leg.company.publish(leg.company.group.view->at(to), leg.company.tag(kind_),
                               letter.arena.range(Elements(0), n).bytes());
  --letter.readers;
  --sending_[to.value()];
  changed_.notify_all();
}

Task<void> Post::until_idle(Rank to) {
  while (under_way(to)) co_await changed_.wait();
}

Task<void> Post::until_sent(Leg& leg, Rank to) {
  if (under_way(to)) co_await leg.company.with_others(until_idle(to));
}

Task<void> Post::until_all_sent(Leg& leg) {
  for (std::uint32_t r = 0; r < sending_.size(); ++r) co_await until_sent(leg, Rank(r));
}

// ---- What comes

std::optional<Letter> Post::next() {
  if (came_.empty()) return std::nullopt;
  Letter letter = std::move(came_.front());
  came_.pop_front();
  return letter;
}

std::deque<Letter>::iterator Post::first_from(Rank from) {
  return std::ranges::find_if(came_, [&](const Letter& l) { return l.from == from; });
}

Task<void> Post::until_from(Rank from) {
  while (first_from(from) == came_.end()) co_await changed_.wait();
}

Task<Letter> Post::next_from(Leg& leg, Rank from) {
  co_await leg.company.with_others(until_from(from));
  const auto at = first_from(from);
  Letter letter = std::move(*at);
  came_.erase(at);
  co_return letter;
}

Task<void> Post::count_up(Leg& leg) {
  const std::span<const std::uint64_t> own = sent_;
  const std::vector<std::uint64_t> all =
      co_await gathering_.of_all(leg.company.group, own, leg.company.operations());
  const std::uint64_t P = leg.company.size();
  const std::uint32_t rank = leg.company.group.rank.value();
  for (std::uint64_t r = 0; r < P; ++r)
    while (received_[r] < all[r * P + rank]) co_await changed_.wait();
}

Task<void> Post::until_all_came(Leg& leg) { return leg.company.with_others(count_up(leg)); }

}  // namespace shoal
