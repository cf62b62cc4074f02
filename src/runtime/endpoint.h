// Endpoint: a node's messages. One of the four interfaces of the seam; see docs/architecture.md.
//
//   co_await endpoint.send(to, tag, const_buf(span));  // done = span may be reused
//   const Match match{.from = peer, .tag = tag};
//   const Received r = co_await endpoint.recv(match, room);
//   co_await all(endpoint.send(next, tag, out), endpoint.recv(match, in));
//
// Lifetime of ranges. A matched receive or a rendezvous send cannot be taken back from a network.
// A cancelled operation throws Cancelled at once, but its range stays *busy*: the transport may
// still read or write it. retire() ends a generation and awaits that its ranges are free.
#pragma once

#include <cstdint>
#include <limits>

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

// Which messages a receive takes. The tag's group and generation always count; of its id, the bits
// in `mask`.
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

// For protocols in which the size is known: a message of another size is Corrupt.
void require_size(const Received& received, Bytes expected);

class [[nodiscard]] SendOp final : public Operation {
 public:
  using Result = void;
  SendOp(Endpoint& endpoint, NodeId to_node, Tag t, ConstBuf p)
      : to(to_node), tag(t), payload(p), endpoint_(&endpoint) {}
  SendOp(SendOp&&) = default;
  ~SendOp() override { detach(); }
  void await_resume() { rethrow(); }

  const NodeId to;
  const Tag tag;
  const ConstBuf payload;
  // For the transport.
  void* flight = nullptr;
  void sent() { complete(); }
  void failed_with(std::exception_ptr error) { fail(std::move(error)); }

 private:
  void start() override;
  bool abort() override;
  Endpoint* endpoint_;
};

class [[nodiscard]] RecvOp final : public Operation, public ListHook<struct InMailbox> {
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
  void received(const Received& result) {
    result_ = result;
    complete();
  }
  void failed_with(std::exception_ptr error) { fail(std::move(error)); }

 private:
  void start() override;
  bool abort() override;
  Endpoint* endpoint_;
  Received result_;
};

// Thread safety: none; an endpoint belongs to the thread of its node.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual NodeId self() const = 0;
  // Throws PeerLost when the target is dead or evicted, Fenced when this node is.
  SendOp send(NodeId to, Tag tag, ConstBuf payload) { return {*this, to, tag, payload}; }
  // Messages of one sender and tag arrive in the order sent; different tags may overtake each
  // other. A message larger than `room` is Corrupt. Self-sends work.
  RecvOp recv(Match match, MutBuf room) { return {*this, match, room}; }
  // From now on nothing of generations up to this one is received any more, and pending operations
  // of them are cancelled; done when every range they used is free.
  virtual Task<void> retire(GroupId group, Generation generation) = 0;

 private:
  friend class SendOp;
  friend class RecvOp;
  virtual void start_send(SendOp& op) = 0;
  virtual void abort_send(SendOp& op) = 0;
  virtual void start_recv(RecvOp& op) = 0;
  virtual void abort_recv(RecvOp& op) = 0;
};

inline void SendOp::start() { endpoint_->start_send(*this); }
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
