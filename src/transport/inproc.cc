#include "transport/inproc.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace shoal {
namespace {

std::exception_ptr peer_lost(NodeId peer, const std::string& why) {
  return std::make_exception_ptr(PeerLost(peer, why));
}

// False for a range that a peer may keep as long as it likes.
bool is_awaited(const InprocParcel& flight) { return flight.op == nullptr || !flight.op->lent; }

}  // namespace

InprocEndpoint::InprocEndpoint(InprocNet& net, LiveLoop& loop, Env& env, NodeId self,
                               Incarnation incarnation)
    : LiveEndpoint(env),
      net_(&net),
      loop_(&loop),
      port_(std::make_shared<InprocPort>(InprocPort{self, incarnation, &loop, this})),
      mailbox_(*this) {
  net_->attach(port_);
  loop_->add_stall_source(*this);
}

InprocEndpoint::~InprocEndpoint() {
  if (state() != State::Dead) die("it is gone", nullptr);
  SHOAL_CHECK(flights_.empty(), "an endpoint ended while a peer reads from its node's ranges");
  loop_->remove_stall_source(*this);
  port_->endpoint = nullptr;
}

// ---- Sending

void InprocEndpoint::start_send(SendOp& op) {
  ++progress_;
  if (state() == State::Fenced) return op.failed_with(fenced());
  if (state() != State::Open) return park(op);
  if (mailbox_.retired(op.tag)) return op.failed_with(std::make_exception_ptr(Cancelled()));
  Outgoing* const out = connect(op.to);
  if (out == nullptr) return op.failed_with(peer_lost(op.to, mailbox_.lost(op.to)));

  record(EventKind::SendPosted, op.to, op.tag, op.payload.size, out->sequence);
  const InprocParcelPtr parcel = pack(op, *out);
  if (parcel->rendezvous) {
    parcel->op = &op;
    parcel->flight = next_flight_++;
    parcel->sent_tag = op.tag;
    op.flight = parcel.get();
    flights_.emplace(parcel->flight, parcel);
    return InprocNet::deliver(parcel);
  }
  InprocNet::deliver(parcel);
  record(EventKind::SendDone, op.to, op.tag, op.payload.size, out->sequence - 1);
  op.sent();
}

InprocEndpoint::Outgoing* InprocEndpoint::connect(NodeId to) {
  if (!mailbox_.lost(to).empty()) return nullptr;
  const Incarnation known = mailbox_.newest(to);  // 0 before the first view
  Outgoing& out = outgoing_[to];
  const auto right = [&](const InprocPortPtr& port) {
    return port != nullptr && (known == Incarnation(0) || port->incarnation == known);
  };
  if (right(out.port)) return &out;
  const InprocPortPtr port = net_->find(to);
  if (right(port)) {
    out = {port, 0};
    return &out;
  }
  mailbox_.lose(to, known, port == nullptr ? "it is not running" : "another life took its place");
  return nullptr;
}

InprocParcelPtr InprocEndpoint::pack(const SendOp& op, Outgoing& out) {
  const Header header{.source = port_->node,
                      .incarnation = port_->incarnation,
                      .target = out.port->node,
                      .target_incarnation = out.port->incarnation,
                      .tag = op.tag,
                      .sequence = out.sequence++,
                      .size = op.payload.size};
  const HeaderBytes head = encode_header(header);
  const bool rendezvous = op.payload.size > kInprocEagerMax;
  const bool in_frame = !rendezvous && !op.payload.phantom();
  std::vector<std::byte> frame;
  frame.reserve(kHeaderSize + (in_frame ? op.payload.size.value() : 0));
  frame.insert(frame.end(), head.begin(), head.end());
  if (in_frame) {
    const auto bytes = op.payload.bytes();
    frame.insert(frame.end(), bytes.begin(), bytes.end());
  }
  auto parcel = std::make_shared<InprocParcel>(port_, out.port, std::move(frame));
  parcel->range = op.payload;
  parcel->in_frame = in_frame;
  parcel->rendezvous = rendezvous;
  return parcel;
}

void InprocEndpoint::abort_send(SendOp& op) {
  ++progress_;
  record(EventKind::OpCancelled, op.to, op.tag, op.payload.size, 0);
  auto* const flight = static_cast<InprocParcel*>(std::exchange(op.flight, nullptr));
  if (flight == nullptr) {
    unpark(op);
    return;
  }
  flight->op = nullptr;
  // If that fails, a peer is reading it: the range stays busy, and retire() waits for the release.
  take_back(flights_.at(flight->flight));
}

bool InprocEndpoint::take_back(InprocParcelPtr flight) {
  if (!flight->revoke()) return false;
  InprocNet::take_back(flight);
  forget(*flight);
  return true;
}

void InprocEndpoint::answered(const InprocParcelPtr& parcel, InprocOutcome outcome,
                              const std::string& why) {
  ++progress_;
  // Completes the operation before the flight: when the last flight is forgotten all others end.
  SendOp* const op = std::exchange(parcel->op, nullptr);
  if (op != nullptr) {
    op->flight = nullptr;
    end_send(*op, *parcel, outcome, why);
  }
  if (parcel->flight != 0) forget(*parcel);
  const InprocPort& peer = *parcel->target;
  if (outcome == InprocOutcome::Gone) lose(peer.node, peer.incarnation, why);
  if (outcome == InprocOutcome::Fenced) fence(why);
}

void InprocEndpoint::end_send(SendOp& op, const InprocParcel& parcel, InprocOutcome outcome,
                              const std::string& why) {
  if (state() == State::Dead) return park(op);
  if (outcome == InprocOutcome::Delivered) {
    record(EventKind::SendDone, op.to, op.tag, op.payload.size, 0);
    return op.sent();
  }
  if (state() == State::Fenced) return op.failed_with(fenced());
  if (state() == State::Fencing || outcome == InprocOutcome::Fenced) return park(op);
  op.failed_with(parcel.error ? parcel.error : peer_lost(op.to, why));
}

// Removes parcels without readers from flights_.
void InprocEndpoint::forget(const InprocParcel& flight) {
  const auto node = flights_.extract(flight.flight);
  if (node.empty()) return;
  freed_.notify_all();
  if (flights_.empty() && quiet_) std::exchange(quiet_, nullptr)();
}

std::vector<InprocParcelPtr> InprocEndpoint::flights() const {
  std::vector<InprocParcelPtr> all;
  for (const auto& [number, parcel] : flights_) all.push_back(parcel);
  return all;
}

// ---- Loss and end

// Ends the operation of a flight with `error`: at once, or when the receiver has released it.
void InprocEndpoint::settle(const InprocParcelPtr& flight, const std::exception_ptr& error) {
  SendOp* const op = flight->op;
  if (!take_back(flight)) {
    flight->error = error;
    flight->stop = true;
    return;
  }
  if (op == nullptr) return;
  flight->op = nullptr;
  op->flight = nullptr;
  op->failed_with(error);
}

void InprocEndpoint::lose(NodeId peer, Incarnation life, const std::string& why) {
  if (state() != State::Open || peer == self()) return;
  mailbox_.lose(peer, life, why);
  for (const InprocParcelPtr& f : flights()) {
    if (f->target->node == peer && f->target->incarnation <= life) settle(f, peer_lost(peer, why));
  }
}

void InprocEndpoint::adopt(const ViewPtr& view) {
  if (state() != State::Open) return;
  mailbox_.adopt(view);
  for (const InprocParcelPtr& f : flights()) {
    const NodeId to = f->target->node;
    if (!mailbox_.over(to, f->target->incarnation)) continue;
    const std::string& why = mailbox_.lost(to);
    settle(f, peer_lost(to, why.empty() ? "another life took its place" : why));
  }
}

void InprocEndpoint::fail_receives(const std::exception_ptr& error) {
  while (!transfers_.empty()) {
    InprocParcel& parcel = transfers_.front();
    RecvOp& op = *parcel.receive;
    end_transfer(parcel, InprocOutcome::Gone, "it was evicted");
    op.failed_with(error);
  }
  mailbox_.fail_all(error);
}

void InprocEndpoint::die(const std::string& why, std::function<void()> quiet) {
  SHOAL_CHECK(state() != State::Dead, "node {} died twice", self());
  dead();
  quiet_ = nullptr;
  while (!transfers_.empty()) end_transfer(transfers_.front(), InprocOutcome::Gone, why);
  net_->detach(port_, why);
  quiesce(std::move(quiet));
}

void InprocEndpoint::quiesce(std::function<void()> quiet) {
  for (const InprocParcelPtr& f : flights()) {
    SendOp* const op = f->op;
    if (!take_back(f)) {
      f->stop = true;
      continue;
    }
    if (op == nullptr) continue;
    f->op = nullptr;
    op->flight = nullptr;
    park(*op);
  }
  if (!flights_.empty()) {
    quiet_ = std::move(quiet);
  } else if (quiet) {
    quiet();
  }
}

bool InprocEndpoint::holds(GroupId group, Generation generation) const {
  return std::ranges::any_of(flights_, [&](const auto& entry) {
    const Tag& tag = entry.second->sent_tag;
    return tag.group == group && covers(generation, tag.generation);
  });
}

Task<void> InprocEndpoint::retire(GroupId group, Generation generation) {
  mailbox_.retire(group, generation);
  for (const InprocParcelPtr& f : flights())
    if (f->op != nullptr && mailbox_.retired(f->sent_tag)) f->op->request_cancel();
  while (InprocParcel* p =
             transfers_.find([&](const InprocParcel& q) { return mailbox_.retired(q.tag); }))
    p->receive->request_cancel();
  while (holds(group, generation)) co_await freed_.wait();
}

// ---- Stall report

bool InprocEndpoint::pending() const {
  const bool awaited =
      std::ranges::any_of(flights_, [](const auto& flight) { return is_awaited(*flight.second); });
  return state() != State::Dead && (awaited || mailbox_.has_receives());
}

std::vector<std::string> InprocEndpoint::waiting() {
  const std::string who = fmt::format("node {}.{}", port_->node, port_->incarnation);
  std::vector<std::string> lines = mailbox_.describe_waiting(who);
  for (const InprocParcelPtr& f : flights())
    if (is_awaited(*f))
      lines.push_back(fmt::format("{} waits for node {} to take {} bytes: {}", who, f->target->node,
                                  f->range.size, describe(f->sent_tag)));
  return lines;
}

}  // namespace shoal
