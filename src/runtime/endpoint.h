// Endpoint: a node's messages. One of the four interfaces of the seam; see docs/architecture.md.
//
//   co_await endpoint.send(to, tag, const_buf(span));  // done = span may be reused
//   const Match match{.from = peer, .tag = tag};
//   const Received r = co_await endpoint.recv(match, room);
//   co_await all(endpoint.send(next, tag, out), endpoint.recv(match, in));
//
// Windows. Nodes of one host read each other's ranges in place, in memory from allocate(). Between
// hosts the same two calls are a transfer:
//
//   co_await endpoint.publish(reader, tag, range);      // done = the reader has released it
//   const Reading r = co_await endpoint.read(match);    // r.data(), until r is destroyed
//
// Lifetime of ranges. A matched receive or a rendezvous send cannot be withdrawn from a network. A
// cancelled operation throws Cancelled at once, but its range stays *busy*: the transport may still
// read or write it. retire() ends a generation and waits until its ranges are free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "base/list.h"
#include "base/types.h"
#include "runtime/buffer.h"
#include "runtime/header.h"
#include "runtime/operation.h"
#include "runtime/task.h"

namespace shoal {

class Endpoint;

inline constexpr NodeId kAnyone = kNobody;
inline constexpr std::uint64_t kWholeId = std::numeric_limits<std::uint64_t>::max();

// The messages that a receive accepts. The tag's group and generation must match; of its id, the
// bits in `mask`.
struct Match {
  NodeId from = kAnyone;
  Tag tag;
  std::uint64_t mask = kWholeId;

  bool accepts(NodeId sender, const Tag& t) const {
    return (from == kAnyone || from == sender) && t.group == tag.group &&
           t.generation == tag.generation && (t.id & mask) == (tag.id & mask);
  }
};

struct Received {
  NodeId from = kNobody;
  std::uint64_t id = 0;
  Bytes size;
};

// For protocols with messages of known size: another size is Corrupt.
void require_size(const Received& received, Bytes expected);

class [[nodiscard]] SendOp final : public Operation {
 public:
  using Result = void;
  enum class Manner : std::uint8_t { Sent, Published, Lent };
  SendOp(Endpoint& endpoint, NodeId to_node, Tag t, ConstBuf p, Manner manner)
      : to(to_node),
        tag(t),
        payload(p),
        published(manner != Manner::Sent),
        lent(manner == Manner::Lent),
        endpoint_(&endpoint) {}
  SendOp(SendOp&&) = default;
  ~SendOp() override { detach(); }
  void await_resume() { rethrow(); }

  const NodeId to;
  const Tag tag;
  const ConstBuf payload;
  const bool published;  // the receiver should read it in place,
  const bool lent;       // and may keep it for a while, so waiting for it is no stall
  // For the transport.
  void* flight = nullptr;
  void sent() { complete(); }
  void failed_with(std::exception_ptr error) { fail(std::move(error)); }

 private:
  void start() override;
  bool abort() override;
  Endpoint* endpoint_;
};

class [[nodiscard]] RecvOp : public Operation,
                             public ListHook<struct InMailbox>,
                             public ListHook<struct InReceivesByKey> {
 public:
  using Result = Received;
  RecvOp(Endpoint& endpoint, Match m, MutBuf r) : match(m), room(r), endpoint_(&endpoint) {}
  RecvOp(RecvOp&&) = default;
  ~RecvOp() override { detach(); }
  Received await_resume() {
    rethrow();
    return result_;
  }

  const Match match;
  const MutBuf room;
  // For the transport.
  void* flight = nullptr;
  std::uint64_t posted = 0;  // the number of earlier receives
  virtual class ReadOp* reading() { return nullptr; }
  // Offers the payload in place, for the duration of the call. True: the receive has taken it, and
  // it need not be copied to the room. Some transports do not call this.
  virtual bool take_in(ConstBuf payload) {
    (void)payload;
    return false;
  }
  void received(const Received& result) {
    result_ = result;
    complete();
  }
  void failed_with(std::exception_ptr error) { fail(std::move(error)); }

 protected:
  Received result_;

 private:
  void start() override;
  bool abort() override;
  Endpoint* endpoint_;
};

// A message read in place: in its sender's memory, or in memory that came with it. The sender's
// range is busy until the Reading is destroyed.
class Reading {
 public:
  Reading(const Received& what, ConstBuf data, std::shared_ptr<const void> hold)
      : what_(what), data_(data), hold_(std::move(hold)) {}

  NodeId from() const { return what_.from; }
  std::uint64_t id() const { return what_.id; }
  Bytes size() const { return what_.size; }
  ConstBuf data() const { return data_; }

 private:
  Received what_;
  ConstBuf data_;
  std::shared_ptr<const void> hold_;
};

void require_size(const Reading& reading, Bytes expected);

class [[nodiscard]] ReadOp final : public RecvOp {
 public:
  using Result = Reading;
  ReadOp(Endpoint& endpoint, Match m) : RecvOp(endpoint, m, MutBuf{}) {}
  ReadOp(ReadOp&&) = default;
  ~ReadOp() override { detach(); }
  Reading await_resume() {
    rethrow();
    return {result_, data_, std::move(hold_)};
  }

  // For the transport: received() follows. `hold` keeps `data` readable and is released on the
  // thread of the node.
  ReadOp* reading() override { return this; }
  void in_place(ConstBuf data, std::shared_ptr<const void> hold) {
    data_ = data;
    hold_ = std::move(hold);
  }

 private:
  ConstBuf data_;
  std::shared_ptr<const void> hold_;
};

// Thread safety: none; an endpoint belongs to the thread of its node.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual NodeId self() const = 0;
  // Throws PeerLost when the target is dead or evicted, Fenced when this node is.
  SendOp send(NodeId to, Tag tag, ConstBuf payload) {
    return {*this, to, tag, payload, SendOp::Manner::Sent};
  }
  // Messages of one sender and tag arrive in the order sent; different tags may overtake each
  // other. A message larger than `room` is Corrupt. Self-sends work.
  RecvOp recv(Match match, MutBuf room) { return {*this, match, room}; }
  // A send whose receiver reads in place: between nodes of one host nothing is copied. A published
  // message may also be received, and a sent one read.
  SendOp publish(NodeId to, Tag tag, ConstBuf range) {
    return {*this, to, tag, range, SendOp::Manner::Published};
  }
  // The same for a range that the reader may keep from step to step, which is not a stall.
  SendOp lend(NodeId to, Tag tag, ConstBuf range) {
    return {*this, to, tag, range, SendOp::Manner::Lent};
  }
  ReadOp read(Match match) { return {*this, match}; }
  // Bytes of all messages to others so far, including those that they read in place.
  Bytes sent() const { return sent_; }
  // Zeroed memory for ranges that are published, aligned to 64 bytes: in the window of this node,
  // if it has one. The memory may outlive the endpoint.
  virtual std::shared_ptr<std::byte> allocate(Bytes size);
  // The size shown, from the beginning on; `lasts`: later writes are visible too.
  struct Shown {
    Bytes size{};
    bool lasts = false;
  };
  // Maps the memory `there` (of a Reading or from allocate()) into `room` without a copy, as far as
  // possible. REQUIRES: `room` lies in allocate_pages() (base/memory.h).
  virtual Shown show(MutBuf room, ConstBuf there) {
    (void)room, (void)there;
    return {};
  }
  // Ends all generations up to this one: their messages are dropped and their pending operations
  // cancelled; done when every range they used is free. Generation 0, which outlives views, is
  // retired by kForGood alone.
  virtual Task<void> retire(GroupId group, Generation generation) = 0;

 private:
  friend class SendOp;
  friend class RecvOp;
  virtual void start_send(SendOp& op) = 0;
  virtual void abort_send(SendOp& op) = 0;
  virtual void start_recv(RecvOp& op) = 0;
  virtual void abort_recv(RecvOp& op) = 0;
  Bytes sent_;
};

inline void SendOp::start() {
  if (to != endpoint_->self()) endpoint_->sent_ += payload.size;
  endpoint_->start_send(*this);
}
inline bool SendOp::abort() {
  endpoint_->abort_send(*this);
  return true;
}
inline void RecvOp::start() { endpoint_->start_recv(*this); }
inline bool RecvOp::abort() {
  endpoint_->abort_recv(*this);
  return true;
}

}  // namespace shoal
