#include "sim/sim_endpoint.h"

#include "base/error.h"
#include "base/hash.h"
#include "sim/world.h"

namespace shoal {

// ---- Packet

void Packet::arrived() {
  target = destination;
  life = target_life;
}

void Packet::happen() {
  if (state == State::OnItsWay && !Network::through(*this)) return world->network().advance(*this);
  queued = false;
  if (state == State::OnItsWay) {
    state = State::Waiting;
    world->endpoint(destination)->deliver(*this);
  } else {
    world->endpoint(source)->answered(*this);
  }
}

// The receiver has died, or the message was called off. A sender that waits learns of the first by
// the loss of its peer.
void Packet::discard() {
  queued = false;
  if (!in_flight()) world->packets().give_back(*this);
}

// ---- Busy

void SimEndpoint::Busy::happen() {
  ListHook<InBusy>::unlink();
  copy(ConstBuf{late.data(), Bytes(late.size())}, room);
  RecvOp* const receive = std::exchange(op, nullptr);
  SimEndpoint& e = *endpoint;
  const Received r = result;
  const Tag t = tag;
  world->busies().give_back(*this);
  if (receive != nullptr) {
    receive->flight = nullptr;
    e.finish_receive(*receive, r, t);
  }
  e.freed_.notify_all();
}

void SimEndpoint::Busy::discard() { world->busies().give_back(*this); }

// ---- Held

Held::~Held() {
  if (packet == nullptr) return;
  packet->held = nullptr;
  reader->let_go(*packet);
}

// ---- SimEndpoint

SimEndpoint::SimEndpoint(World& world, NodeId self, Incarnation incarnation)
    : world_(&world),
      self_(self),
      incarnation_(incarnation),
      mailbox_(*this),
      view_(std::make_shared<const View>()) {}

SimEndpoint::~SimEndpoint() {
  // The process has died, and its ranges with it: readers get nothing.
  flights_.each([this](Packet& p) {
    if (p.op != nullptr) p.op->flight = nullptr;
    free_flight(p);
  });
  while (!busy_.empty()) {
    Busy& busy = busy_.pop_front();
    if (busy.op != nullptr) busy.op->flight = nullptr;
    busy.called_off = true;
    world_->queue().note_called_off();
  }
}

void SimEndpoint::record(EventKind kind, NodeId peer, const Tag& tag, Bytes size, std::uint64_t c) {
  if (!world_->recording()) return;
  Event event = message_event(kind, peer, tag, size, c);
  event.node = self_;
  event.incarnation = incarnation_;
  world_->record(std::move(event));
}

void SimEndpoint::start_send(SendOp& op) {
  if (fenced_) return op.failed_with(fenced_);
  if (mailbox_.retired(op.tag)) return op.failed_with(std::make_exception_ptr(Cancelled()));
  const std::string& lost = mailbox_.lost(op.to);
  if (!lost.empty()) return op.failed_with(std::make_exception_ptr(PeerLost(op.to, lost)));
  check_reuse(op.payload, op.tag);

  Packet& p = world_->packets().take();
  p.world = world_;
  p.state = Packet::State::OnItsWay;
  p.target = kNobody;
  p.called_off = false;
  p.source = p.from = self_;
  p.incarnation = incarnation_;
  p.destination = op.to;
  const Member* member = view_->find(op.to);
  p.target_life = member != nullptr ? member->incarnation : world_->incarnation(op.to);
  p.tag = p.stream = op.tag;
  p.size = p.wire_size = op.payload.size;
  // Data read in place does not travel.
  if (op.published && world_->same_host(self_, op.to)) p.wire_size = Bytes(0);
  p.number = sent_++;
  p.queued = true;
  p.buffered = world_->completes_at_once();
  record(EventKind::SendPosted, op.to, op.tag, op.payload.size, p.number);
  if (p.buffered) {
    const auto bytes = op.payload.bytes();
    p.staged.assign(bytes.begin(), bytes.end());
    p.op = nullptr;
    world_->network().send(p);
    op.sent();
    return;
  }
  p.op = &op;
  p.payload = op.payload;
  p.payload_hash = hash_of(op.payload.bytes());
  op.flight = &p;
  flights_.push_back(p);
  world_->network().send(p);
}

void SimEndpoint::abort_send(SendOp& op) {
  record(EventKind::OpCancelled, op.to, op.tag, op.payload.size, 0);
  if (op.flight == nullptr) return;
  // The message cannot be withdrawn: its range is busy until the receiver takes or drops it.
  static_cast<Packet*>(op.flight)->op = nullptr;
  op.flight = nullptr;
}

void SimEndpoint::start_recv(RecvOp& op) {
  if (fenced_) return op.failed_with(fenced_);
  check_reuse(op.room, op.match.tag);
  record(EventKind::RecvPosted, op.match.from, op.match.tag, op.room.size, 0);
  mailbox_.post(op);
}

void SimEndpoint::abort_recv(RecvOp& op) {
  record(EventKind::OpCancelled, op.match.from, op.match.tag, op.room.size, 1);
  if (op.flight != nullptr) {  // matched already: it will be written all the same
    static_cast<Busy*>(op.flight)->op = nullptr;
    op.flight = nullptr;
    return;
  }
  mailbox_.cancel(op);
  const Duration during = world_->draw_busy();
  if (during <= Duration(0)) return;
  Busy& busy = keep_busy(op, during);
  busy.op = nullptr;
  // A program that uses the range too early finds these bytes in it.
  busy.late.assign(op.room.bytes().size(), std::byte{0xDB});
}

void SimEndpoint::deliver(Packet& packet) { mailbox_.deliver(packet); }

void SimEndpoint::matched(RecvOp& op, Arrival& arrival) {
  Packet& p = static_cast<Packet&>(arrival);
  world_->count_message();
  if (ReadOp* const reading = op.reading()) return read(*reading, p);
  const Received result{p.from, p.tag.id, p.size};
  const Tag tag = p.tag;
  if (p.size > op.room.size) {
    answer(p, Packet::State::Acknowledging);
    return op.failed_with(std::make_exception_ptr(
        Corrupt(fmt::format("message from node {}: {} bytes do not fit the {} expected",
                            result.from, result.size, op.room.size))));
  }
  if (!p.buffered && hash_of(p.payload.bytes()) != p.payload_hash)
    record(EventKind::RangeReused, p.from, tag, p.size, p.number);
  const ConstBuf content =
      p.buffered ? ConstBuf{p.staged.data(), Bytes(p.staged.size())} : p.payload;
  const Duration busy = world_->draw_busy();
  if (busy > Duration(0)) {
    Busy& late = keep_busy(op, busy);
    late.result = result;
    late.late.assign(content.bytes().begin(), content.bytes().end());
    op.flight = &late;
    answer(p, Packet::State::Acknowledging);
    return;
  }
  copy(content, op.room);
  answer(p, Packet::State::Acknowledging);
  finish_receive(op, result, tag);
}

void SimEndpoint::read(ReadOp& op, Packet& p) {
  const Received result{p.from, p.tag.id, p.size};
  const Tag tag = p.tag;
  auto held = std::make_shared<Held>();
  held->reader = this;
  const bool phantom = !p.buffered && p.payload.phantom();
  if (p.buffered) {
    held->bytes = p.staged;
    answer(p, Packet::State::Acknowledging);
  } else {
    held->bytes.assign(p.payload.bytes().begin(), p.payload.bytes().end());
    held->packet = &p;
    p.held = held.get();
  }
  const bool empty = phantom || held->bytes.empty();
  op.in_place({empty ? nullptr : held->bytes.data(), result.size}, held);
  finish_receive(op, result, tag);
}

void SimEndpoint::let_go(Packet& packet) {
  if (!world_->up(self_)) return;  // a crashed node sends no reply
  if (hash_of(packet.payload.bytes()) != packet.payload_hash)
    record(EventKind::RangeReused, packet.from, packet.tag, packet.size, packet.number);
  answer(packet, Packet::State::Acknowledging);
}

void SimEndpoint::finish_receive(RecvOp& op, const Received& result, const Tag& tag) {
  record(EventKind::RecvDone, result.from, tag, result.size, 0);
  op.received(result);
}

void SimEndpoint::dropped(Arrival& arrival, DropReason reason) {
  Packet& p = static_cast<Packet&>(arrival);
  record(EventKind::MessageDropped, p.from, p.tag, p.size, static_cast<std::uint64_t>(reason));
  if (reason == DropReason::ReceiverGone) return p.discard();
  // An evicted node learns of it from the first peer that it contacts.
  const bool evicted = reason == DropReason::OldIncarnation;
  answer(p, evicted ? Packet::State::Fencing : Packet::State::Acknowledging);
}

void SimEndpoint::answer(Packet& packet, Packet::State state) {
  if (state == Packet::State::Acknowledging && !packet.in_flight())
    return world_->packets().give_back(packet);
  packet.state = state;
  packet.queued = true;
  packet.target = packet.source;
  packet.life = packet.incarnation;
  if (world_->network().hold(self_, packet.source, packet)) return;  // the link back is cut
  world_->queue().schedule(world_->now() + world_->network().latency(self_, packet.source), packet);
}

void SimEndpoint::answered(Packet& packet) {
  const bool fenced = packet.state == Packet::State::Fencing;
  SendOp* const op = std::exchange(packet.op, nullptr);
  const bool waited_for = packet.in_flight() && op != nullptr;
  free_flight(packet);
  if (waited_for && !fenced) {
    op->flight = nullptr;
    record(EventKind::SendDone, op->to, op->tag, op->payload.size, 0);
    op->sent();
  } else if (waited_for) {
    op->flight = nullptr;
    op->failed_with(std::make_exception_ptr(Fenced("a peer answered that we are out of the view")));
  }
  if (fenced) world_->fence(self_, "a peer answered that this incarnation is out of the view");
}

void SimEndpoint::free_flight(Packet& packet) {
  static_cast<ListHook<InFlights>&>(packet).unlink();
  packet.op = nullptr;
  if (packet.held != nullptr) std::exchange(packet.held, nullptr)->packet = nullptr;
  if (packet.queued) {
    packet.called_off = true;
    world_->queue().note_called_off();
  } else {
    packet.Arrival::unlink();
    world_->packets().give_back(packet);
  }
  freed_.notify_all();
}

void SimEndpoint::fail_flights(const std::exception_ptr& error, NodeId to, bool everyone) {
  const auto affected = [&](const Packet& p) {
    return everyone || (p.destination == to && mailbox_.over(to, p.target_life));
  };
  while (Packet* p = flights_.find(affected)) {
    SendOp* const op = p->op;
    free_flight(*p);
    if (op == nullptr) continue;
    op->flight = nullptr;
    op->failed_with(error);
  }
}

void SimEndpoint::adopt(const ViewPtr& view) {
  view_ = view;
  mailbox_.adopt(view);
  while (Packet* p = flights_.find(
             [&](const Packet& q) { return mailbox_.over(q.destination, q.target_life); })) {
    const NodeId to = p->destination;
    const std::string& why = mailbox_.lost(to);
    fail_flights(std::make_exception_ptr(PeerLost(to, why.empty() ? "it was replaced" : why)), to,
                 false);
  }
}

void SimEndpoint::lose(NodeId peer, Incarnation life, const std::string& why) {
  mailbox_.lose(peer, life, why);
  fail_flights(std::make_exception_ptr(PeerLost(peer, why)), peer, false);
}

void SimEndpoint::fence(const std::string& why) {
  if (fenced_) return;
  fenced_ = std::make_exception_ptr(Fenced(why));
  mailbox_.fail_all(fenced_);
  fail_flights(fenced_, kNobody, true);
}

bool SimEndpoint::holds(GroupId group, Generation generation) {
  const auto of_it = [&](const Tag& tag) {
    return tag.group == group && covers(generation, tag.generation);
  };
  return flights_.find([&](const Packet& p) { return of_it(p.tag); }) != nullptr ||
         busy_.find([&](const Busy& b) { return of_it(b.tag); }) != nullptr;
}

// Takes no time, but makes a copy of the present content.
Endpoint::Shown SimEndpoint::show(MutBuf room, ConstBuf there) {
  if (!there.phantom()) copy(there, room);
  return {there.size, false};
}

Task<void> SimEndpoint::retire(GroupId group, Generation generation) {
  mailbox_.retire(group, generation);
  while (Packet* p = flights_.find(
             [&](const Packet& q) { return q.op != nullptr && mailbox_.retired(q.tag); }))
    p->op->request_cancel();
  while (Busy* b =
             busy_.find([&](const Busy& c) { return c.op != nullptr && mailbox_.retired(c.tag); }))
    b->op->request_cancel();
  while (holds(group, generation)) co_await freed_.wait();
}

SimEndpoint::Busy& SimEndpoint::keep_busy(RecvOp& op, Duration during) {
  Busy& busy = world_->busies().take();
  busy.world = world_;
  busy.endpoint = this;
  busy.target = self_;
  busy.life = incarnation_;
  busy.called_off = false;
  busy.op = &op;
  busy.tag = op.match.tag;
  busy.room = op.room;
  busy.late.clear();
  busy_.push_back(busy);
  world_->queue().schedule(world_->now() + during, busy);
  return busy;
}

void SimEndpoint::check_reuse(ConstBuf range, const Tag& tag) {
  if (busy_.empty()) return;
  const Busy* busy = busy_.find([&](const Busy& b) { return overlap(b.room, range); });
  if (busy != nullptr) record(EventKind::RangeReused, self_, tag, range.size, 0);
}

}  // namespace shoal
