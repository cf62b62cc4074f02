// The receiving half of WireEndpoint: frames in, checks, matching, fetching.
#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "transport/wire/wire_endpoint.h"

namespace shoal {

void WireEndpoint::start_recv(RecvOp& op) {
  ++progress_;
  if (state() == State::Fenced) return op.failed_with(fenced());
  if (state() == State::Dead) return;  // it waits to be cancelled
  record(EventKind::RecvPosted, op.match.from, op.match.tag, op.room.size, 0);
  mailbox_.post(op);
}

void WireEndpoint::abort_recv(RecvOp& op) {
  ++progress_;
  record(EventKind::OpCancelled, op.match.from, op.match.tag, op.room.size, 1);
  if (op.flight == nullptr) return mailbox_.cancel(op);
  Parcel& parcel = *static_cast<Parcel*>(std::exchange(op.flight, nullptr));
  parcel.receive = nullptr;
  if (parcel.carrier->stop(parcel)) end_fetch(parcel);  // otherwise the room stays busy for a while
}

void WireEndpoint::arrived(Parcel& parcel) {
  if (state() != State::Open) return parcel.carrier->release(parcel);
  ++progress_;
  try {
    const Header header = check(parcel);
    // A listener outlives the incarnations of its node: a peer may not know the new one yet.
    if (header.target != self_.node || header.target_incarnation != self_.incarnation) {
      env().probe("wire: a message for another life");
      return parcel.carrier->release(parcel);
    }
    take_in_order(parcel, header.sequence);
  } catch (const Corrupt& error) {
    // Messages of this peer cannot be trusted: its incarnation ends for this node.
    env().probe("wire: corrupt frame");
    fmt::print(stderr, "shoal: node {}: {}\n", self_.node, error.what());
    const std::optional<LifeId> sender = parcel.sender;
    parcel.carrier->release(parcel);
    if (sender) lose(sender->node, sender->incarnation, error.what());
  }
}

Header WireEndpoint::check(Parcel& parcel) {
  const NodeId named = parcel.sender ? parcel.sender->node : kNobody;
  const Header h = decode_header(parcel.header, named);
  const auto corrupt = [&](const std::string& what) {
    throw Corrupt(
        fmt::format("message from node {} by {}: {}", h.source, parcel.carrier->name(), what));
  };
  const LifeId source{h.source, h.incarnation};
  if (parcel.sender && source != *parcel.sender)
    corrupt(fmt::format("it claims to be from node {}.{}, but the connection is that of {}.{}",
                        h.source, h.incarnation, parcel.sender->node, parcel.sender->incarnation));
  parcel.sender = source;
  if (h.size.value() != parcel.payload_size)
    corrupt(fmt::format("its header promises {} bytes, {} came", h.size, parcel.payload_size));
  parcel.from = h.source;
  parcel.incarnation = h.incarnation;
  parcel.tag = h.tag;
  parcel.size = h.size;
  return h;
}

void WireEndpoint::take_in_order(Parcel& parcel, std::uint64_t sequence) {
  Incoming& in = incoming_[parcel.from];
  if (in.incarnation < parcel.incarnation) {
    forget(in);
    in.incarnation = parcel.incarnation;
  }
  if (parcel.incarnation < in.incarnation) return mailbox_.deliver(parcel);  // to be dropped
  Lane& lane = in.lanes[parcel.lane];
  if (sequence == lane.due && lane.early.empty()) {  // almost always
    ++lane.due;
    return take(parcel);
  }
  const bool fresh = sequence >= lane.due && lane.early.emplace(sequence, &parcel).second;
  if (!fresh)
    throw Corrupt(fmt::format("message from node {} by {}: number {} is repeated, expected {}",
                              parcel.from, parcel.carrier->name(), sequence, lane.due));
  while (!lane.early.empty() && lane.early.begin()->first == lane.due) {
    Parcel& next = *lane.early.begin()->second;
    lane.early.erase(lane.early.begin());
    ++lane.due;
    take(next);
  }
}

void WireEndpoint::take(Parcel& parcel) {
  if (parcel.tag.group == kNoteGroup) return take_note(parcel);
  mailbox_.deliver(parcel);
}

void WireEndpoint::forget(Incoming& incoming) {
  for (auto& [number, lane] : incoming.lanes)
    for (auto& [sequence, parcel] : lane.early) parcel->carrier->release(*parcel);
  incoming.lanes.clear();
}

void WireEndpoint::matched(RecvOp& op, Arrival& arrival) {
  Parcel& parcel = static_cast<Parcel&>(arrival);
  MutBuf room = op.room;
  if (ReadOp* const reading = op.reading()) {
    if (const auto here = parcel.carrier->in_place(parcel))
      return finish_reading(parcel, *reading, *here);
    parcel.buffer = Endpoint::allocate(parcel.size);
    room = {parcel.buffer.get(), parcel.size};
  }
  if (parcel.size > room.size) {
    const std::string what =
        fmt::format("message from node {}: {} bytes do not fit the {} expected", parcel.from,
                    parcel.size, room.size);
    parcel.carrier->release(parcel);
    return op.failed_with(std::make_exception_ptr(Corrupt(what)));
  }
  const auto here = parcel.carrier->glance(parcel);
  if (here && op.take_in(*here)) return finish_receive(parcel, op);
  if (parcel.carrier->fetch(parcel, room)) return finish_receive(parcel, op);
  parcel.receive = &op;
  op.flight = &parcel;
  fetches_.push_back(parcel);
  // Connects to the sender too: if that peer freezes, closing our connection frees the room.
  if (state() == State::Open) connect(parcel.from);
}

void WireEndpoint::finish_reading(Parcel& parcel, ReadOp& op, ConstBuf data) {
  ++progress_;
  const Received result{parcel.from, parcel.tag.id, parcel.size};
  record(EventKind::RecvDone, parcel.from, parcel.tag, parcel.size, 0);
  const auto let_go_of = [](Parcel* p) { p->carrier->release(*p); };
  const std::shared_ptr<const Parcel> hold(&parcel, let_go_of);
  op.in_place(data, hold);
  op.received(result);
}

void WireEndpoint::finish_receive(Parcel& parcel, RecvOp& op) {
  if (ReadOp* const reading = op.reading())
    return finish_reading(parcel, *reading, {parcel.buffer.get(), parcel.size});
  ++progress_;
  const Received result{parcel.from, parcel.tag.id, parcel.size};
  record(EventKind::RecvDone, parcel.from, parcel.tag, parcel.size, 0);
  parcel.carrier->release(parcel);
  op.received(result);
}

void WireEndpoint::fetched(Parcel& parcel, const std::string& error) {
  ++progress_;
  RecvOp* const op = std::exchange(parcel.receive, nullptr);
  if (op != nullptr) op->flight = nullptr;
  if (op != nullptr && error.empty() && state() == State::Open) {
    static_cast<ListHook<InFetches>&>(parcel).unlink();
    finish_receive(parcel, *op);
    freed_.notify_all();
    return;
  }
  const LifeId from{parcel.from, parcel.incarnation};
  end_fetch(parcel);
  if (op == nullptr) return;
  broken_off(*op, std::make_exception_ptr(PeerLost(from.node, error)));
}

void WireEndpoint::end_fetch(Parcel& parcel) {
  static_cast<ListHook<InFetches>&>(parcel).unlink();
  RecvOp* const op = std::exchange(parcel.receive, nullptr);
  const LifeId from{parcel.from, parcel.incarnation};
  parcel.carrier->release(parcel);
  freed_.notify_all();
  if (op != nullptr) {
    op->flight = nullptr;
    broken_off(*op, std::make_exception_ptr(PeerLost(from.node, "the connection was closed")));
  }
  look_quiet();
}

// A receive from anyone continues to wait after the loss of one peer, and so do the receives of a
// node that is being fenced, until all are; those of a dead node wait to be cancelled.
void WireEndpoint::broken_off(RecvOp& op, const std::exception_ptr& error) {
  if (state() == State::Dead) return;
  if (state() == State::Fenced) return op.failed_with(fenced());
  if (state() == State::Fencing || op.match.from == kAnyone) return mailbox_.post(op);
  op.failed_with(error);
}

void WireEndpoint::dropped(Arrival& arrival, DropReason reason) {
  Parcel& parcel = static_cast<Parcel&>(arrival);
  record(EventKind::MessageDropped, parcel.from, parcel.tag, parcel.size,
         static_cast<std::uint64_t>(reason));
  parcel.carrier->release(parcel);
}

}  // namespace shoal
