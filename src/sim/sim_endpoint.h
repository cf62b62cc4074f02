// A simulated node's Endpoint.
//
// The cluster (or the seed) decides whether a send completes at once or only when matched. In the
// second case the receiver reads the sender's range when it matches, so that a range changed too
// early is noticed. The range of a cancelled receive may be written for a while after.
#pragma once

#include <vector>

#include "base/list.h"
#include "base/types.h"
#include "runtime/channel.h"
#include "runtime/endpoint.h"
#include "runtime/frames.h"
#include "runtime/mailbox.h"
#include "sim/network.h"

namespace shoal {

class World;
class SimEndpoint;

// One message, from the world's pool. It belongs in turn to the event queue (`queued`), to the
// receiver's mailbox, and again to the queue as the reply to its sender. While its payload is the
// sender's range it is also one of the sender's flights, and is released with these.
class Packet final : public Transit, public Arrival, public ListHook<struct InFlights> {
 public:
  static void* operator new(std::size_t size) { return detail::take_frame(size); }
  static void operator delete(void* packet, std::size_t size) {
    detail::give_back_frame(packet, size);
  }
  void happen() override;
  void discard() override;

  enum class State : std::uint8_t { OnItsWay, Waiting, Acknowledging, Fencing };
  State state = State::OnItsWay;
  bool queued = false;  // the queue will pop or discard it
  World* world = nullptr;
  SendOp* op = nullptr;       // a send that waits until this message is matched
  Incarnation target_life{};  // the incarnation of the receiver to which it was sent
  bool buffered = false;      // `staged` holds the payload; otherwise it is the sender's range
  ConstBuf payload;
  std::uint64_t payload_hash = 0;
  std::uint64_t number = 0;  // counts the sender's messages
  std::vector<std::byte> staged;
  struct Held* held = nullptr;  // the receiver's read of it

  bool in_flight() const { return ListHook<struct InFlights>::linked(); }

 private:
  void arrived() override;
};

// A message being read. The reader has a copy, so that a crash of the sender does not remove it.
// When the reader releases it, it is checked that the sender has not changed its range meanwhile.
struct Held {
  ~Held();
  SimEndpoint* reader = nullptr;
  Packet* packet = nullptr;  // null once its sender no longer waits for it
  std::vector<std::byte> bytes;
};

class SimEndpoint final : public Endpoint, private Mailbox::Host {
 public:
  SimEndpoint(World& world, NodeId self, Incarnation incarnation);
  ~SimEndpoint() override;

  NodeId self() const override { return self_; }
  Task<void> retire(GroupId group, Generation generation) override;
  Shown show(MutBuf room, ConstBuf there) override;

  // For the world.
  void deliver(Packet& packet);
  void adopt(const ViewPtr& view);
  void lose(NodeId peer, Incarnation life, const std::string& why);
  void fence(const std::string& why);
  void answered(Packet& packet);
  std::vector<std::string> waiting(const std::string& who) {
    return mailbox_.describe_waiting(who);
  }
  bool has_busy_ranges() const { return !busy_.empty() || !flights_.empty(); }

  // The range of a receive that the transport has not released; from the world's pool.
  class Busy final : public Occurrence, public ListHook<struct InBusy> {
   public:
    void happen() override;
    void discard() override;
    World* world = nullptr;
    SimEndpoint* endpoint = nullptr;
    RecvOp* op = nullptr;  // null once cancelled
    Tag tag;
    MutBuf room;
    Received result;
    std::vector<std::byte> late;  // the bytes to be written
  };

 private:
  void start_send(SendOp& op) override;
  void abort_send(SendOp& op) override;
  void start_recv(RecvOp& op) override;
  void abort_recv(RecvOp& op) override;
  void matched(RecvOp& op, Arrival& arrival) override;
  void dropped(Arrival& arrival, DropReason reason) override;

  friend struct Held;
  void read(ReadOp& op, Packet& packet);
  void let_go(Packet& packet);
  void finish_receive(RecvOp& op, const Received& result, const Tag& tag);
  void answer(Packet& packet, Packet::State state);  // sends it back to its sender
  void fail_flights(const std::exception_ptr& error, NodeId to, bool everyone);
  void free_flight(Packet& packet);
  bool holds(GroupId group, Generation generation);
  Busy& keep_busy(RecvOp& op, Duration during);
  void check_reuse(ConstBuf range, const Tag& tag);
  void record(EventKind kind, NodeId peer, const Tag& tag, Bytes size, std::uint64_t c);

  World* world_;
  NodeId self_;
  Incarnation incarnation_;
  Mailbox mailbox_;
  ViewPtr view_;
  std::uint64_t sent_ = 0;
  std::exception_ptr fenced_;
  List<Packet, struct InFlights> flights_;  // messages that read from this node's ranges
  List<Busy, struct InBusy> busy_;
  Signal freed_;
};

}  // namespace shoal
