// WireEndpoint: messages between processes, each peer reached by the best carrier that both sides
// have.
//
// The carriers move bytes (UCX, the memory of one host). All other guarantees of the seam are
// implemented here, once for all carriers: headers and their checks, matching, lifetimes of ranges,
// loss, fencing, and the stall report.
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
#include "runtime/env.h"
#include "runtime/live/loop.h"
#include "runtime/mailbox.h"
#include "transport/live_endpoint.h"
#include "transport/wire/carrier.h"
#include "transport/wire/ways.h"

namespace shoal {

// In order of preference: the first that reaches a peer carries the messages to it.
using Carriers = std::vector<std::unique_ptr<Carrier>>;

Ways ways_of(const Carriers& carriers);

// For messages between the endpoints themselves; programs use other groups.
inline constexpr GroupId kNoteGroup{0xFFFF};

// Thread safety: none; it belongs to the thread of its loop. Invariants:
// 1. A carrier holds the range of an operation exactly while its flight is in flights_, or its
//    parcel in fetches_.
// 2. A waiting operation is in the mailbox, in flights_, in fetches_ or in parked_; or the node is
//    dead, and it waits to be cancelled.
// 3. Every parcel is in incoming_ (too early), in the mailbox, in fetches_, held by a Reading, or
//    was released.
// Large class: half of the methods implement Endpoint, Mailbox::Host and Carrier::Sink.
class WireEndpoint final : public LiveEndpoint, private Mailbox::Host, private Carrier::Sink {
 public:
  // The directory must outlive the endpoint.
  WireEndpoint(LiveLoop& loop, Env& env, LifeId self, Carriers carriers,
               const PeerDirectory& directory);
  // REQUIRES: nothing is in flight; see die().
  ~WireEndpoint() override;

  NodeId self() const override { return self_.node; }
  Task<void> retire(GroupId group, Generation generation) override;
  std::shared_ptr<std::byte> allocate(Bytes size) override;
  Shown show(MutBuf room, ConstBuf there) override;

  void adopt(const ViewPtr& view) override;
  void lose(NodeId peer, Incarnation life, const std::string& why) override;
  void die(const std::string& why, std::function<void()> quiet) override;

  // Asks every peer that an operation waits for about its activity; `answer` is called for each
  // reply, with the text of the peer's `situation`.
  using Answer = std::function<void(NodeId peer, const std::string& situation)>;
  void ask_missing(Answer answer);
  void on_question(std::function<std::string()> situation) { situation_ = std::move(situation); }

  // Completes when all messages sent so far have arrived, except at lost peers: then leave in an
  // orderly way.
  Task<void> deliver_all();

  bool pending() const override;
  std::uint64_t progress() const override { return progress_; }
  std::vector<std::string> waiting() override;

 private:
  struct Outgoing {
    LifeId life;
    Carrier* carrier = nullptr;
    std::vector<std::uint64_t> sequence;  // of the next message, by lane
  };
  // State of messages from an incarnation of a peer. A medium may reorder messages.
  struct Lane {
    std::uint64_t due = 0;
    std::map<std::uint64_t, Parcel*> early;
  };
  struct Incoming {
    Incarnation incarnation;
    std::map<std::uint32_t, Lane> lanes;
  };

  void quiesce(std::function<void()> quiet) override;
  void fail_receives(const std::exception_ptr& error) override;
  void start_send(SendOp& op) override;
  void abort_send(SendOp& op) override;
  void start_recv(RecvOp& op) override;
  void abort_recv(RecvOp& op) override;
  void matched(RecvOp& op, Arrival& arrival) override;
  void dropped(Arrival& arrival, DropReason reason) override;
  void arrived(Parcel& parcel) override;
  void sent(Flight& flight) override;
  void failed(Flight& flight, const std::string& why) override;
  void fetched(Parcel& parcel, const std::string& error) override;
  void lost(LifeId peer, const std::string& why) override;
  void broken(const std::string& why) override { fence(why); }

  struct Note;
  void launch(std::unique_ptr<Flight> flight, Outgoing& out, std::uint32_t lane, Tag tag,
              ConstBuf payload);
  void send_note(NodeId to, std::uint32_t lane, std::uint64_t id, std::string text);
  void take_note(Parcel& parcel);
  // The connection to the known incarnation of `to`; null if it is lost.
  Outgoing* connect(NodeId to);
  Header check(Parcel& parcel);  // throws Corrupt
  void take_in_order(Parcel& parcel, std::uint64_t sequence);
  void take(Parcel& parcel);
  void forget(Incoming& incoming);
  void end_flight(Flight& flight);
  void end_fetch(Parcel& parcel);
  void finish_receive(Parcel& parcel, RecvOp& op);
  void finish_reading(Parcel& parcel, ReadOp& op, ConstBuf data);
  void broken_off(RecvOp& op, const std::exception_ptr& error);
  void close_connections(const std::function<bool(LifeId)>& which);
  void look_quiet();
  bool holds(GroupId group, Generation generation);

  LiveLoop* loop_;
  const LifeId self_;
  const PeerDirectory* directory_;
  std::function<void()> quiet_;
  std::function<std::string()> situation_;
  Answer answer_;
  std::map<LifeId, std::uint32_t> unconfirmed_;  // lanes on which a peer has yet to confirm all
                                                 // messages
  std::map<NodeId, Outgoing> outgoing_;
  std::map<NodeId, Incoming> incoming_;
  List<Flight, struct InFlights> flights_;
  List<Parcel, struct InFetches> fetches_;
  Signal freed_;
  std::uint64_t progress_ = 0;
  Carriers carriers_;
  std::unique_ptr<Carrier> own_;  // messages of this node to itself
  Mailbox mailbox_;               // last: its destructor calls dropped()
};

}  // namespace shoal
