// InprocEndpoint: messages between nodes of one process, on the same loop or on different ones.
//
// Every message has the real header, and all traffic between two endpoints goes through inject() of
// the receiver's loop, so it arrives in order on any loops. A payload of at most 8 KiB is copied
// when it is sent. A larger one stays where it is until it is matched; the receiver then copies it
// straight from the sender's range, a slice per turn, and replies.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/recorder.h"
#include "base/types.h"
#include "runtime/channel.h"
#include "runtime/endpoint.h"
#include "runtime/env.h"
#include "runtime/live/loop.h"
#include "runtime/mailbox.h"
#include "transport/inproc_net.h"
#include "transport/live_endpoint.h"

namespace shoal {

inline constexpr Bytes kInprocEagerMax{8 * 1024};
// The loop runs its other nodes and timers between two slices of a copy.
inline constexpr Bytes kInprocSlice{256 * 1024};

// Thread safety: none; an endpoint belongs to the thread of its loop. Invariants:
// 1. Others read a range only while its parcel is in flights_.
// 2. A waiting operation is in the mailbox, in flights_, in transfers_ or in parked_; or the node
//    is dead, and it waits to be cancelled.
// 3. Once the endpoint is not Open, flights_ only shrinks.
class InprocEndpoint final : public LiveEndpoint, private Mailbox::Host {
 public:
  // Peers can reach it from now on. The loop must outlive every endpoint of the net.
  InprocEndpoint(InprocNet& net, LiveLoop& loop, Env& env, NodeId self, Incarnation incarnation);
  // REQUIRES: no peer copies from this node; see die().
  ~InprocEndpoint() override;

  NodeId self() const override { return port_->node; }
  Task<void> retire(GroupId group, Generation generation) override;

  void adopt(const ViewPtr& view) override;
  void lose(NodeId peer, Incarnation life, const std::string& why) override;
  void die(const std::string& why, std::function<void()> quiet) override;

  // For the net, on the loop's thread.
  void arrived(const InprocParcelPtr& parcel);
  void answered(const InprocParcelPtr& parcel, InprocOutcome outcome, const std::string& why);

  bool pending() const override;
  std::uint64_t progress() const override { return progress_; }
  std::vector<std::string> waiting() override;

 private:
  struct Outgoing {
    InprocPortPtr port;
    std::uint64_t sequence = 0;
  };
  struct Incoming {
    Incarnation incarnation;
    std::uint64_t sequence = 0;
  };

  void quiesce(std::function<void()> quiet) override;
  void fail_receives(const std::exception_ptr& error) override;
  void start_send(SendOp& op) override;
  void abort_send(SendOp& op) override;
  void start_recv(RecvOp& op) override;
  void abort_recv(RecvOp& op) override;
  bool claim(Arrival& arrival) override;
  void matched(RecvOp& op, Arrival& arrival) override;
  void dropped(Arrival& arrival, DropReason reason) override;

  // The port of the known incarnation of `to`; null if it is lost.
  Outgoing* connect(NodeId to);
  InprocParcelPtr pack(const SendOp& op, Outgoing& out);
  Header open(const InprocParcel& parcel);  // throws Corrupt
  void break_link(const InprocParcelPtr& parcel, const std::string& why);
  void read_in_place(ReadOp& op, InprocParcel& parcel);
  void copy_slice(InprocParcel& parcel);
  void end_transfer(InprocParcel& parcel, InprocOutcome outcome, const std::string& why);
  void broken_off(RecvOp& op, const std::exception_ptr& error);
  void let_go(InprocParcel& parcel, InprocOutcome outcome, const std::string& why);

  std::vector<InprocParcelPtr> flights() const;
  bool take_back(InprocParcelPtr flight);  // false while it is being read
  void end_send(SendOp& op, const InprocParcel& parcel, InprocOutcome outcome,
                const std::string& why);
  void settle(const InprocParcelPtr& flight, const std::exception_ptr& error);
  void forget(const InprocParcel& flight);
  bool holds(GroupId group, Generation generation) const;

  InprocNet* net_;
  LiveLoop* loop_;
  InprocPortPtr port_;
  std::function<void()> quiet_;
  std::map<NodeId, Outgoing> outgoing_;
  std::map<NodeId, Incoming> incoming_;
  std::map<std::uint64_t, InprocParcelPtr> flights_;  // rendezvous sends, oldest first
  std::uint64_t next_flight_ = 1;
  List<InprocParcel, struct InTransfers> transfers_;
  Signal freed_;
  std::uint64_t progress_ = 0;
  Mailbox mailbox_;  // last: its destructor calls dropped()
};

}  // namespace shoal
