#include "decentral/async_sender.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "decentral/algorithm.h"

namespace shoal {

std::span<const float> ReceivedModel::numbers(Elements n) const {
  require_size(what, Bytes(n.value() * sizeof(float)));
  return room->range(Elements(0), n).data();
}

// Records messages for the checkers, which verify that each arrives once and unchanged.
void AsyncSender::note(TrainingRound& round, EventKind kind, NodeId peer, ConstBuf what) const {
  if (!round.terms.task.audit || what.phantom()) return;
  Event event = round.context.event(kind, peer);
  event.a = kind_;
  event.b = hash_of(what.bytes());
  round.env().record(event);
}

void AsyncSender::begin(const ViewContext& context) {
  sent_.assign(context.size(), 0);
  received_.assign(context.size(), 0);
  sending_.assign(context.size(), 0);
  // The previous view's readers are retired.
  for (Outgoing& message : outgoing_) message.readers = 0;
}

void AsyncSender::listen(TrainingRound& round, Keep keep) {
  keep_ = keep;
  round.spawn(take(round));
}

Task<void> AsyncSender::take(TrainingRound& round) {
  const Match match{.tag = round.context.tag(kind_)};
  while (true) {
    Reading message = co_await round.context.read(match);
    const std::optional<Rank> rank = round.context.group.view->rank_of(message.from());
    if (!rank) continue;
    const Elements n(message.size().value() / sizeof(float));
    if (n > n_) require_size(message, Bytes(n_.value() * sizeof(float)));
    const Received what{message.from(), message.id(), message.size()};
    std::shared_ptr<Arena> room = free_room();
    co_await copy(round.env(), room->range(Elements(0), n), numbers_of(message, n));
    ++received_[rank->value()];
    note(round, EventKind::MessageTaken, what.from, room->range(Elements(0), n).bytes());
    if (keep_ == Keep::Newest)
      std::erase_if(came_, [&](const ReceivedModel& one) { return one.from == *rank; });
    came_.push_back({*rank, what, std::move(room)});
    changed_.notify_all();
  }
}

std::shared_ptr<Arena> AsyncSender::free_room() {
  for (const std::shared_ptr<Arena>& room : rooms_)
    if (room.use_count() == 1) return room;
  return rooms_.emplace_back(std::make_shared<Arena>(n_, substance_));
}

// ---- Sending

AsyncSender::Outgoing& AsyncSender::blank() {
  const auto free =
      std::ranges::find_if(outgoing_, [](const Outgoing& o) { return o.readers == 0; });
  Outgoing& message =
      free == outgoing_.end() ? outgoing_.emplace_back(node_.endpoint, n_, substance_) : *free;
  message.readers = 1;  // the caller, which writes the message
  return message;
}

void AsyncSender::send(TrainingRound& round, std::span<const Rank> to, Outgoing& message,
                       Elements n) {
  message.readers = to.size();
  for (const Rank r : to) {
    ++sent_[r.value()];
    ++sending_[r.value()];
    note(round, EventKind::MessageSent, round.context.group.view->at(r),
         message.arena.range(Elements(0), n).bytes());
    round.spawn(deliver(round, r, message, n));
  }
}

Task<void> AsyncSender::deliver(TrainingRound& round, Rank to, Outgoing& message, Elements n) {
  co_await round.context.publish(round.context.group.view->at(to), round.context.tag(kind_),
                                 message.arena.range(Elements(0), n).bytes());
  --message.readers;
  --sending_[to.value()];
  changed_.notify_all();
}

Task<void> AsyncSender::until_idle(Rank to) {
  while (under_way(to)) co_await changed_.wait();
}

Task<void> AsyncSender::until_sent(TrainingRound& round, Rank to) {
  if (under_way(to)) co_await round.context.with_others(until_idle(to));
}

Task<void> AsyncSender::until_all_sent(TrainingRound& round) {
  for (std::uint32_t r = 0; r < sending_.size(); ++r) co_await until_sent(round, Rank(r));
}

// ---- Receiving

std::optional<ReceivedModel> AsyncSender::next() {
  if (came_.empty()) return std::nullopt;
  ReceivedModel message = std::move(came_.front());
  came_.pop_front();
  return message;
}

std::deque<ReceivedModel>::iterator AsyncSender::first_from(Rank from) {
  return std::ranges::find_if(came_, [&](const ReceivedModel& l) { return l.from == from; });
}

Task<void> AsyncSender::until_from(Rank from) {
  while (first_from(from) == came_.end()) co_await changed_.wait();
}

Task<ReceivedModel> AsyncSender::next_from(TrainingRound& round, Rank from) {
  co_await round.context.with_others(until_from(from));
  const auto at = first_from(from);
  ReceivedModel message = std::move(*at);
  came_.erase(at);
  co_return message;
}

Task<void> AsyncSender::count_up(TrainingRound& round) {
  const std::span<const std::uint64_t> own = sent_;
  const std::vector<std::uint64_t> all =
      co_await gathering_.of_all(round.context.group, own, round.context.operations());
  const std::uint64_t P = round.context.size();
  const std::uint32_t rank = round.context.group.rank.value();
  for (std::uint64_t r = 0; r < P; ++r)
    while (received_[r] < all[r * P + rank]) co_await changed_.wait();
}

Task<void> AsyncSender::until_all_came(TrainingRound& round) {
  return round.context.with_others(count_up(round));
}

}  // namespace shoal
