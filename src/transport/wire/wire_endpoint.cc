#include "transport/wire/wire_endpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "transport/wire/own_carrier.h"

namespace shoal {
namespace {

// In larger views each node connects to a peer when it first sends to it.
constexpr std::size_t kConnectedAtOnceMax = 64;
constexpr Bytes kHugePage{2 << 20};

std::exception_ptr peer_lost(NodeId peer, const std::string& why) {
  return std::make_exception_ptr(PeerLost(peer, why));
}

// False for a range that a peer may keep as long as it likes.
bool is_awaited(const Flight& flight) { return flight.op == nullptr || !flight.op->lent; }

}  // namespace

Ways ways_of(const Carriers& carriers) {
  Ways ways;
  for (const auto& carrier : carriers) ways[carrier->name()] = carrier->contact();
  return ways;
}

WireEndpoint::WireEndpoint(LiveLoop& loop, Env& env, LifeId self, Carriers carriers,
                           const PeerDirectory& directory)
    : LiveEndpoint(env),
      loop_(&loop),
      self_(self),
      directory_(&directory),
      carriers_(std::move(carriers)),
      own_(std::make_unique<OwnCarrier>()),
      mailbox_(*this) {
  for (auto& carrier : carriers_) carrier->open(self_, *this);
  own_->open(self_, *this);
  outgoing_[self_.node] = {self_, own_.get(), {0}};
  loop_->add_stall_source(*this);
}

WireEndpoint::~WireEndpoint() {
  SHOAL_CHECK(flights_.empty() && fetches_.empty(), "an endpoint ended with ranges in flight");
  for (auto& [node, incoming] : incoming_) forget(incoming);
  loop_->remove_stall_source(*this);
}

std::shared_ptr<std::byte> WireEndpoint::allocate(Bytes size) {
  for (auto& carrier : carriers_)
    if (auto memory = carrier->allocate(size)) return memory;
  // The kernel copies from and to large pages faster.
  return size < kHugePage ? Endpoint::allocate(size) : allocate_pages(size.value());
}

// Data received by a network or from a thread is not in shared memory, so showing it is refused.
Endpoint::Shown WireEndpoint::show(MutBuf room, ConstBuf there) {
  return {Bytes(show_pages(room.data, there.data, there.size.value())), true};
}

// ---- Sending

void WireEndpoint::start_send(SendOp& op) {
  ++progress_;
  SHOAL_CHECK(!op.payload.phantom(), "a phantom of {} bytes cannot be sent for real",
              op.payload.size);
  if (state() == State::Fenced) return op.failed_with(fenced());
  if (state() != State::Open) return park(op);
  if (mailbox_.retired(op.tag)) return op.failed_with(std::make_exception_ptr(Cancelled()));
  Outgoing* const out = connect(op.to);
  if (out == nullptr) return op.failed_with(peer_lost(op.to, mailbox_.lost(op.to)));

  auto flight = std::make_unique<Flight>();
  flight->op = &op;
  op.flight = flight.get();
  // By tag, so that messages of one tag stay in order.
  const std::uint64_t lane = (op.tag.id ^ op.tag.generation.value()) % out->sequence.size();
  launch(std::move(flight), *out, static_cast<std::uint32_t>(lane), op.tag, op.payload);
}

void WireEndpoint::launch(std::unique_ptr<Flight> flight, Outgoing& out, std::uint32_t lane,
                          Tag tag, ConstBuf payload) {
  const Header header{.source = self_.node,
                      .incarnation = self_.incarnation,
                      .target = out.life.node,
                      .target_incarnation = out.life.incarnation,
                      .tag = tag,
                      .sequence = out.sequence[lane]++,
                      .size = payload.size};
  record(EventKind::SendPosted, out.life.node, tag, payload.size, header.sequence);
  flight->to = out.life;
  flight->header = encode_header(header);
  flight->payload = payload;
  flight->lane = lane;
  flight->carrier = out.carrier;
  flight->tag = tag;
  Flight& kept = *flight.release();  // returned with sent() or failed()
  flights_.push_back(kept);
  if (kept.carrier->send(kept)) sent(kept);
}

WireEndpoint::Outgoing* WireEndpoint::connect(NodeId to) {
  if (!mailbox_.lost(to).empty()) return nullptr;
  const Incarnation known = to == self_.node ? self_.incarnation : mailbox_.newest(to);
  const auto found = outgoing_.find(to);
  if (found != outgoing_.end() &&
      (known == Incarnation(0) || found->second.life.incarnation == known))
    return &found->second;

  const std::optional<PeerDirectory::Listing> listing = directory_->find(to, known);
  if (!listing) {
    mailbox_.lose(to, known, "its address is unknown");
    return nullptr;
  }
  for (auto& carrier : carriers_) {
    const auto contact = listing->ways.find(carrier->name());
    if (contact == listing->ways.end() || !carrier->reaches(contact->second)) continue;
    carrier->connect(listing->life, contact->second);
    Outgoing& out = outgoing_[to];
    out.life = listing->life;
    out.carrier = carrier.get();
    out.sequence.assign(carrier->lanes(), 0);
    return &out;
  }
  std::string offers;
  for (const auto& [name, bytes] : listing->ways) offers += ' ' + name;
  mailbox_.lose(to, listing->life.incarnation,
                fmt::format("no transport reaches it; it offers{}", offers));
  return nullptr;
}

void WireEndpoint::abort_send(SendOp& op) {
  ++progress_;
  record(EventKind::OpCancelled, op.to, op.tag, op.payload.size, 0);
  auto* const flight = static_cast<Flight*>(std::exchange(op.flight, nullptr));
  // A message in flight cannot be withdrawn: the range stays busy, and retire() waits for it.
  if (flight != nullptr) flight->op = nullptr;
  unpark(op);
}

void WireEndpoint::sent(Flight& flight) {
  ++progress_;
  if (SendOp* const op = std::exchange(flight.op, nullptr)) {
    op->flight = nullptr;
    if (state() == State::Dead) {
      park(*op);
    } else {
      record(EventKind::SendDone, op->to, op->tag, op->payload.size, 0);
      op->sent();
    }
  }
  end_flight(flight);
}

void WireEndpoint::failed(Flight& flight, const std::string& why) {
  ++progress_;
  const LifeId to = flight.to;
  if (SendOp* const op = std::exchange(flight.op, nullptr)) {
    op->flight = nullptr;
    if (state() == State::Fenced) {
      op->failed_with(fenced());
    } else if (state() != State::Open) {
      park(*op);
    } else {
      const std::string& known = mailbox_.lost(to.node);
      op->failed_with(peer_lost(to.node, known.empty() ? why : known));
    }
  }
  end_flight(flight);
  lost(to, why);
}

void WireEndpoint::end_flight(Flight& flight) {
  static_cast<ListHook<InFlights>&>(flight).unlink();
  delete &flight;
  freed_.notify_all();
  look_quiet();
}

// ---- Loss and end

void WireEndpoint::lost(LifeId peer, const std::string& why) {
  lose(peer.node, peer.incarnation, why);
}

void WireEndpoint::lose(NodeId peer, Incarnation life, const std::string& why) {
  if (state() != State::Open || peer == self_.node) return;
  mailbox_.lose(peer, life, why);
  close_connections([&](LifeId l) { return l.node == peer && l.incarnation <= life; });
}

void WireEndpoint::adopt(const ViewPtr& view) {
  if (state() != State::Open) return;
  mailbox_.adopt(view);
  close_connections([&](LifeId l) { return mailbox_.over(l.node, l.incarnation); });
  // At once, not with the first message: then even a node that only receives from a peer notices
  // its death, and the critical moment of connecting is not in the middle of an exchange.
  if (view->size() > kConnectedAtOnceMax) return;
  for (const Member& m : view->members)
    if (m.node != self_.node) connect(m.node);
}

// All peers that we send to or receive from.
void WireEndpoint::close_connections(const std::function<bool(LifeId)>& which) {
  std::vector<LifeId> closing;
  for (const auto& [node, out] : outgoing_)
    if (node != self_.node && which(out.life)) closing.push_back(out.life);
  flights_.each([&](Flight& f) {
    if (f.to.node != self_.node && which(f.to)) closing.push_back(f.to);
  });
  fetches_.each([&](Parcel& p) {
    const LifeId from{p.from, p.incarnation};
    if (p.from != self_.node && which(from)) closing.push_back(from);
  });
  std::ranges::sort(closing);
  closing.erase(std::unique(closing.begin(), closing.end()), closing.end());
  for (auto& [node, incoming] : incoming_)
    if (node != self_.node && which({node, incoming.incarnation})) forget(incoming);
  for (const LifeId peer : closing) {
    for (auto& carrier : carriers_) carrier->close(peer);
    const auto it = outgoing_.find(peer.node);
    if (it != outgoing_.end() && it->second.life == peer) outgoing_.erase(it);
    if (unconfirmed_.erase(peer) > 0) freed_.notify_all();
  }
}

void WireEndpoint::fail_receives(const std::exception_ptr& error) { mailbox_.fail_all(error); }

void WireEndpoint::die(const std::string& why, std::function<void()> quiet) {
  (void)why;  // the peers learn it from the membership, and from the connection
  SHOAL_CHECK(state() != State::Dead, "node {} died twice", self());
  dead();
  quiesce(std::move(quiet));
}

void WireEndpoint::quiesce(std::function<void()> quiet) {
  quiet_ = std::move(quiet);
  close_connections([](LifeId) { return true; });
  fetches_.each([&](Parcel& p) {
    if (!p.carrier->stop(p)) return;
    end_fetch(p);
  });
  look_quiet();
}

void WireEndpoint::look_quiet() {
  if (quiet_ && flights_.empty() && fetches_.empty()) std::exchange(quiet_, nullptr)();
}

bool WireEndpoint::holds(GroupId group, Generation generation) {
  const auto old = [&](const Tag& tag) {
    return tag.group == group && covers(generation, tag.generation);
  };
  return flights_.find([&](const Flight& f) { return old(f.tag); }) != nullptr ||
         fetches_.find([&](const Parcel& p) { return old(p.tag); }) != nullptr;
}

Task<void> WireEndpoint::retire(GroupId group, Generation generation) {
  mailbox_.retire(group, generation);
  while (Flight* f = flights_.find(
             [&](const Flight& g) { return g.op != nullptr && mailbox_.retired(g.tag); }))
    f->op->request_cancel();
  while (Parcel* p = fetches_.find(
             [&](const Parcel& q) { return q.receive != nullptr && mailbox_.retired(q.tag); }))
    p->receive->request_cancel();
  while (holds(group, generation)) co_await freed_.wait();
}

// ---- Stall report

bool WireEndpoint::pending() const {
  return state() != State::Dead &&
         (flights_.any(is_awaited) || !fetches_.empty() || mailbox_.has_receives());
}

std::vector<std::string> WireEndpoint::waiting() {
  const std::string who = fmt::format("node {}.{}", self_.node, self_.incarnation);
  std::vector<std::string> lines = mailbox_.describe_waiting(who);
  flights_.each([&](Flight& f) {
    if (!is_awaited(f)) return;
    lines.push_back(fmt::format("{} waits for node {} to take {} bytes by {}: {}", who, f.to.node,
                                f.payload.size, f.carrier->name(), describe(f.tag)));
  });
  fetches_.each([&](Parcel& p) {
    lines.push_back(fmt::format("{} waits for {} bytes from node {} by {}: {}", who, p.size, p.from,
                                p.carrier->name(), describe(p.tag)));
  });
  return lines;
}

}  // namespace shoal
