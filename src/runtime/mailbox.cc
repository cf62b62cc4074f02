#include "runtime/mailbox.h"

#include "base/error.h"
#include "base/hash.h"

namespace shoal {
namespace {

std::uint64_t key_of(NodeId from, const Tag& tag) {
  Hash hash;
  hash.add(tag.id);
  hash.add(std::uint64_t{from.value()} << 32U | tag.generation.value());
  return hash.value() + tag.group.value();
}

}  // namespace

Event message_event(EventKind kind, NodeId peer, const Tag& tag, Bytes size, std::uint64_t c) {
  Event event;
  event.kind = kind;
  event.peer = peer;
  event.generation = tag.generation;
  event.group = tag.group;
  event.a = tag.id;
  event.b = size.value();
  event.c = c;
  return event;
}

Mailbox::~Mailbox() {
  receives_.each([this](RecvOp& op) { unlink(op); });
  arrivals_.each([this](Arrival& a) {
    a.unlink();
    host_->dropped(a, DropReason::ReceiverGone);
  });
}

void Mailbox::post(RecvOp& op) {
  const Match& match = op.match;
  if (retired(match.tag)) return op.failed_with(std::make_exception_ptr(Cancelled()));
  while (Arrival* arrival = first_arrival(match)) {
    arrival->unlink();
    if (host_->claim(*arrival)) return host_->matched(op, *arrival);
    host_->dropped(*arrival, DropReason::Cancelled);
  }
  if (match.from != kAnyone && !lost(match.from).empty())
    return op.failed_with(std::make_exception_ptr(PeerLost(match.from, lost(match.from))));
  wait(op);
}

void Mailbox::deliver(Arrival& arrival) {
  if (over(arrival.from, arrival.incarnation))
    return host_->dropped(arrival, DropReason::OldIncarnation);
  if (retired(arrival.tag)) return host_->dropped(arrival, DropReason::Retired);
  RecvOp* const op = first_receive(arrival);
  if (op == nullptr) return wait(arrival);
  if (!host_->claim(arrival)) return host_->dropped(arrival, DropReason::Cancelled);
  unlink(*op);
  host_->matched(*op, arrival);
}

// ---- Matching

RecvOp* Mailbox::first_receive(const Arrival& arrival) {
  const auto accepts = [&](RecvOp& r) { return r.match.accepts(arrival.from, arrival.tag); };
  if (!receives_by_key_.built()) return receives_.find(accepts);
  RecvOp* first = nullptr;
  const auto look = [&](List<RecvOp, InReceivesByKey>& among) {
    RecvOp* const op = among.find(accepts);
    if (op != nullptr && (first == nullptr || op->posted < first->posted)) first = op;
  };
  look(receives_by_key_.of(key_of(arrival.from, arrival.tag)));
  if (from_anyone_ > 0) look(receives_by_key_.of(key_of(kAnyone, arrival.tag)));
  look(broad_);
  return first;
}

Arrival* Mailbox::first_arrival(const Match& match) {
  const auto accepted = [&](Arrival& a) { return match.accepts(a.from, a.tag); };
  if (!arrivals_of_tag_.built() || match.mask != kWholeId) return arrivals_.find(accepted);
  const std::uint64_t key = key_of(match.from, match.tag);
  return match.from == kAnyone ? arrivals_of_tag_.of(key).find(accepted)
                               : arrivals_of_sender_.of(key).find(accepted);
}

void Mailbox::wait(RecvOp& op) {
  op.posted = posted_++;
  if (op.match.from == kAnyone) ++from_anyone_;
  receives_.push_back(op);
  put(op);
  if (!receives_by_key_.worn()) return;
  std::size_t count = 0;
  receives_.each([&](RecvOp& r) {
    static_cast<ListHook<InReceivesByKey>&>(r).unlink();
    ++count;
  });
  receives_by_key_.build(count);
  receives_.each([this](RecvOp& r) { put(r); });
}

void Mailbox::unlink(RecvOp& op) {
  ListHook<InMailbox>& hook = op;
  if (hook.linked() && op.match.from == kAnyone) --from_anyone_;
  hook.unlink();
  static_cast<ListHook<InReceivesByKey>&>(op).unlink();
}

void Mailbox::put(RecvOp& op) {
  if (op.match.mask != kWholeId) return broad_.push_back(op);
  receives_by_key_.put(op, [&] { return key_of(op.match.from, op.match.tag); });
}

void Mailbox::wait(Arrival& arrival) {
  arrivals_.push_back(arrival);
  put(arrival);
  if (!arrivals_of_tag_.worn()) return;
  std::size_t count = 0;
  arrivals_.each([&](Arrival& a) {
    static_cast<ListHook<InArrivalsOfSender>&>(a).unlink();
    static_cast<ListHook<InArrivalsOfTag>&>(a).unlink();
    ++count;
  });
  arrivals_of_sender_.build(count);
  arrivals_of_tag_.build(count);
  arrivals_.each([this](Arrival& a) { put(a); });
}

void Mailbox::put(Arrival& arrival) {
  arrivals_of_sender_.put(arrival, [&] { return key_of(arrival.from, arrival.tag); });
  arrivals_of_tag_.put(arrival, [&] { return key_of(kAnyone, arrival.tag); });
}

// ---- Membership

bool Mailbox::retired(const Tag& tag) const {
  for (const Retired& r : retired_)
    if (r.group == tag.group) return covers(r.generation, tag.generation);
  return false;
}

void Mailbox::retire(GroupId group, Generation generation) {
  Retired* entry = nullptr;
  for (Retired& r : retired_)
    if (r.group == group) entry = &r;
  if (entry == nullptr) entry = &retired_.emplace_back(Retired{group, Generation(0)});
  entry->generation = std::max(entry->generation, generation);

  arrivals_.each([&](Arrival& a) {
    if (!retired(a.tag)) return;
    a.unlink();
    host_->dropped(a, DropReason::Retired);
  });
  while (RecvOp* op = receives_.find([&](RecvOp& r) { return retired(r.match.tag); })) {
    unlink(*op);
    op->request_cancel();
  }
}

void Mailbox::adopt(ViewPtr view) {
  const ViewPtr before = std::exchange(view_, std::move(view));
  for (const Member& m : view_->members) {
    const auto loss = losses_.find(m.node);
    if (loss != losses_.end() && loss->second.incarnation < m.incarnation) losses_.erase(loss);
    const Member* old = before->find(m.node);
    if (old != nullptr && old->incarnation < m.incarnation)
      fail_receives_from(m.node, "it came back as a new incarnation");
  }
  for (const Member& m : before->members) {
    if (view_->find(m.node) == nullptr)
      lose(m.node, m.incarnation, fmt::format("it is not in view {}", view_->generation));
  }
  arrivals_.each([&](Arrival& a) {
    if (a.incarnation >= newest(a.from)) return;
    a.unlink();
    host_->dropped(a, DropReason::OldIncarnation);
  });
}

void Mailbox::lose(NodeId node, Incarnation incarnation, const std::string& why) {
  if (over(node, incarnation)) return;
  losses_[node] = Loss{incarnation, why};
  fail_receives_from(node, why);
}

void Mailbox::fail_receives_from(NodeId node, const std::string& why) {
  while (RecvOp* op = receives_.find([&](RecvOp& r) { return r.match.from == node; })) {
    unlink(*op);
    op->failed_with(std::make_exception_ptr(PeerLost(node, why)));
  }
}

void Mailbox::fail_all(const std::exception_ptr& error) {
  while (!receives_.empty()) {
    RecvOp& op = receives_.front();
    unlink(op);
    op.failed_with(error);
  }
}

const std::string& Mailbox::lost(NodeId node) const {
  static const std::string kNo;
  if (losses_.empty()) return kNo;
  const auto loss = losses_.find(node);
  return loss == losses_.end() ? kNo : loss->second.why;
}

Incarnation Mailbox::newest(NodeId node) const {
  const Member* member = view_->find(node);
  Incarnation known = member == nullptr ? Incarnation(0) : member->incarnation;
  if (!losses_.empty()) {
    const auto loss = losses_.find(node);
    if (loss != losses_.end()) known = std::max(known, loss->second.incarnation);
  }
  return known;
}

bool Mailbox::over(NodeId node, Incarnation incarnation) const {
  const Incarnation known = newest(node);
  return incarnation < known || (incarnation == known && !lost(node).empty());
}

std::vector<Mailbox::Awaited> Mailbox::waiting() {
  std::vector<Awaited> all;
  receives_.each([&](RecvOp& op) { all.push_back({op.match, op.room.size}); });
  return all;
}

std::vector<std::string> Mailbox::describe_waiting(const std::string& who) {
  std::vector<std::string> lines;
  for (const Awaited& a : waiting()) {
    const NodeId peer = a.match.from;
    const std::string from = peer == kAnyone ? "anyone" : fmt::format("node {}", peer);
    lines.push_back(fmt::format("{} waits to receive {} bytes from {}: {}", who, a.room, from,
                                describe(a.match.tag)));
  }
  return lines;
}

}  // namespace shoal
