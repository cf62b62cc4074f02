// The receiving half of InprocEndpoint: frames in, matching, copying.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "transport/inproc.h"

namespace shoal {

void InprocEndpoint::start_recv(RecvOp& op) {
  ++progress_;
  if (state() == State::Fenced) return op.failed_with(fenced());
  if (state() == State::Dead) return;  // it waits to be cancelled
  record(EventKind::RecvPosted, op.match.from, op.match.tag, op.room.size, 0);
  mailbox_.post(op);
}

void InprocEndpoint::abort_recv(RecvOp& op) {
  ++progress_;
  record(EventKind::OpCancelled, op.match.from, op.match.tag, op.room.size, 1);
  if (op.flight == nullptr) return mailbox_.cancel(op);
  // This thread does the copying: it stops, and the room is free at once.
  end_transfer(*static_cast<InprocParcel*>(op.flight), InprocOutcome::Delivered, {});
}

// ---- Frames

void InprocEndpoint::arrived(const InprocParcelPtr& parcel) {
  if (state() == State::Dead || state() == State::Fenced)
    return let_go(*parcel, InprocOutcome::Gone, "it is out");
  try {
    const Header header = open(*parcel);
    parcel->from = header.source;
    parcel->incarnation = header.incarnation;
    parcel->tag = header.tag;
    parcel->size = header.size;
  } catch (const Corrupt& error) {
    return break_link(parcel, error.what());
  }
  parcel->keep = parcel;
  mailbox_.deliver(*parcel);
}

Header InprocEndpoint::open(const InprocParcel& parcel) {
  const InprocPort& peer = *parcel.sender;
  const Header h = decode_header(parcel.frame, peer.node);
  const auto corrupt = [&](const std::string& what) {
    throw Corrupt(fmt::format("message from node {}: {}", peer.node, what));
  };
  if (h.source != peer.node || h.incarnation != peer.incarnation)
    corrupt(fmt::format("it claims to be from node {}.{}, but the connection is that of {}.{}",
                        h.source, h.incarnation, peer.node, peer.incarnation));
  if (h.target != port_->node || h.target_incarnation != port_->incarnation)
    corrupt(fmt::format("it is for node {}.{}, this is {}.{}", h.target, h.target_incarnation,
                        port_->node, port_->incarnation));
  if (h.size != parcel.payload().size)
    corrupt(fmt::format("its header promises {} bytes, {} came", h.size, parcel.payload().size));
  Incoming& in = incoming_[peer.node];
  if (in.incarnation != peer.incarnation) in = {peer.incarnation, 0};
  if (h.sequence != in.sequence)
    corrupt(fmt::format("it has number {} instead of {}", h.sequence, in.sequence));
  ++in.sequence;
  return h;
}

// Messages of this peer cannot be trusted: ends its incarnation for this node, and tells the peer.
void InprocEndpoint::break_link(const InprocParcelPtr& parcel, const std::string& why) {
  const InprocPort& peer = *parcel->sender;
  env().probe("inproc: corrupt frame");
  while (InprocParcel* p =
             transfers_.find([&](const InprocParcel& q) { return q.from == peer.node; })) {
    RecvOp& op = *p->receive;
    end_transfer(*p, InprocOutcome::Fenced, why);
    broken_off(op, std::make_exception_ptr(Corrupt(why)));
  }
  let_go(*parcel, InprocOutcome::Fenced,
         fmt::format("node {} cut the connection: {}", self(), why));
  lose(peer.node, peer.incarnation, why);
}

// ---- Matching

bool InprocEndpoint::claim(Arrival& arrival) { return static_cast<InprocParcel&>(arrival).claim(); }

void InprocEndpoint::matched(RecvOp& op, Arrival& arrival) {
  InprocParcel& parcel = static_cast<InprocParcel&>(arrival);
  if (ReadOp* const reading = op.reading()) return read_in_place(*reading, parcel);
  if (parcel.size > op.room.size) {
    const std::string what =
        fmt::format("message from node {}: {} bytes do not fit the {} expected", parcel.from,
                    parcel.size, op.room.size);
    let_go(parcel, InprocOutcome::Delivered, {});
    return op.failed_with(std::make_exception_ptr(Corrupt(what)));
  }
  parcel.receive = &op;
  op.flight = &parcel;
  transfers_.push_back(parcel);
  copy_slice(parcel);
}

// Claims the sender's range until the reader releases it.
void InprocEndpoint::read_in_place(ReadOp& op, InprocParcel& parcel) {
  const Received result{parcel.from, parcel.tag.id, parcel.size};
  const auto let_go_of = [this](InprocParcel* p) { let_go(*p, InprocOutcome::Delivered, {}); };
  const std::shared_ptr<const InprocParcel> hold(&parcel, let_go_of);
  op.in_place(parcel.payload(), hold);
  ++progress_;
  record(EventKind::RecvDone, result.from, parcel.tag, parcel.size, 0);
  op.received(result);
}

void InprocEndpoint::copy_slice(InprocParcel& parcel) {
  RecvOp& op = *parcel.receive;
  const NodeId from = parcel.from;
  if (parcel.stop) {
    end_transfer(parcel, InprocOutcome::Stopped, {});
    return broken_off(
        op, std::make_exception_ptr(PeerLost(from, "it ended in the middle of a message")));
  }
  const ConstBuf payload = parcel.payload();
  const std::uint64_t size = payload.bytes().size();  // 0 for a phantom
  const std::uint64_t n = std::min(size - parcel.copied, kInprocSlice.value());
  if (n > 0 && op.room.data != nullptr)
    std::memcpy(op.room.data + parcel.copied, payload.data + parcel.copied, n);
  parcel.copied += n;
  if (parcel.copied < size) {
    loop_->defer([this, port = port_, p = parcel.keep] {
      if (port->endpoint == this && p->in_transfer()) copy_slice(*p);
    });
    return;
  }
  const Received result{from, parcel.tag.id, parcel.size};
  ++progress_;
  record(EventKind::RecvDone, from, parcel.tag, parcel.size, 0);
  end_transfer(parcel, InprocOutcome::Delivered, {});
  op.received(result);
}

void InprocEndpoint::end_transfer(InprocParcel& parcel, InprocOutcome outcome,
                                  const std::string& why) {
  static_cast<ListHook<InTransfers>&>(parcel).unlink();
  std::exchange(parcel.receive, nullptr)->flight = nullptr;
  let_go(parcel, outcome, why);
}

// A receive from anyone continues to wait after the loss of one peer.
void InprocEndpoint::broken_off(RecvOp& op, const std::exception_ptr& error) {
  if (op.match.from == kAnyone) return mailbox_.post(op);
  op.failed_with(error);
}

void InprocEndpoint::dropped(Arrival& arrival, DropReason reason) {
  InprocParcel& parcel = static_cast<InprocParcel&>(arrival);
  record(EventKind::MessageDropped, parcel.from, parcel.tag, parcel.size,
         static_cast<std::uint64_t>(reason));
  switch (reason) {
    case DropReason::OldIncarnation:  // an evicted node learns of it from the first peer that it
                                      // contacts
      return let_go(
          parcel, InprocOutcome::Fenced,
          fmt::format("node {} answered that this incarnation is out of the view", self()));
    case DropReason::ReceiverGone:
      return let_go(parcel, InprocOutcome::Gone, "its endpoint is closed");
    default: return let_go(parcel, InprocOutcome::Delivered, {});
  }
}

// The last access to a parcel: its sender gets the range back.
void InprocEndpoint::let_go(InprocParcel& parcel, InprocOutcome outcome, const std::string& why) {
  const InprocParcelPtr last = parcel.shared_from_this();
  parcel.keep.reset();
  if (!parcel.release()) return;  // it was revoked, so no reply is needed
  if (parcel.rendezvous || outcome != InprocOutcome::Delivered)
    InprocNet::answer(last, outcome, why);
}

}  // namespace shoal
