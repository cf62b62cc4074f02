// The matching engine that every transport shares: receives that wait for messages, and messages
// that wait for receives.
//
// Cost: the same however many wait, but of a receive whose mask leaves bits out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/key_table.h"
#include "base/list.h"
#include "base/recorder.h"
#include "base/types.h"
#include "runtime/endpoint.h"
#include "runtime/view.h"

namespace shoal {

// What the flight recorder keeps of a message.
Event message_event(EventKind kind, NodeId peer, const Tag& tag, Bytes size, std::uint64_t c);

// A message that has arrived and waits to be matched. Transports derive from it.
struct Arrival : ListHook<struct InArrivals>,
                 ListHook<struct InArrivalsOfSender>,
                 ListHook<struct InArrivalsOfTag> {
  NodeId from;
  Incarnation incarnation;
  Tag tag;
  Bytes size;

  // Waits no more.
  void unlink() {
    ListHook<InArrivals>::unlink();
    ListHook<InArrivalsOfSender>::unlink();
    ListHook<InArrivalsOfTag>::unlink();
  }
};

// Thread safety: none. Invariants:
// 1. A message is matched at most once, to the first receive posted that accepts it.
// 2. No message of a retired generation is ever matched, and none that arrives from a life of its
//    sender that is over: replaced by a newer incarnation, dead or evicted.
// 3. A receive never waits for a peer that is lost.
class Mailbox {
 public:
  // The transport's part: move the payload and complete the receive; let go of the message.
  class Host {
   public:
    virtual ~Host() = default;
    // Asked before a message is matched. False when its sender has taken it back meanwhile: it is
    // then dropped, and the receive keeps its place.
    virtual bool claim(Arrival& arrival) {
      (void)arrival;
      return true;
    }
    virtual void matched(RecvOp& op, Arrival& arrival) = 0;
    virtual void dropped(Arrival& arrival, DropReason reason) = 0;
  };

  explicit Mailbox(Host& host) : host_(&host) {}
  ~Mailbox();

  void post(RecvOp& op);  // matches at once, waits, or fails with PeerLost
  void cancel(RecvOp& op) { unlink(op); }
  void deliver(Arrival& arrival);  // matches at once, waits, or is dropped

  // Drops what has arrived and will arrive of generations up to this one, and cancels the receives.
  void retire(GroupId group, Generation generation);
  bool retired(const Tag& tag) const;
  // The peers and incarnations that count from now on; a member that is gone or replaced is lost.
  void adopt(ViewPtr view);
  // The connection to this life of a peer broke: receives from it fail, now and later.
  void lose(NodeId peer, Incarnation incarnation, const std::string& why);
  // This node itself is out: every receive fails with `error`.
  void fail_all(const std::exception_ptr& error);

  // Empty while messages may still be exchanged with `peer`, else why not.
  const std::string& lost(NodeId peer) const;
  Incarnation newest(NodeId peer) const;
  bool over(NodeId peer, Incarnation incarnation) const;  // that life of it
  bool has_receives() const { return !receives_.empty(); }
  // Receives that wait, oldest first: who is missing, and for what.
  struct Awaited {
    Match match;
    Bytes room;
  };
  std::vector<Awaited> waiting();
  std::vector<std::string> describe_waiting(const std::string& who);  // a line for each

 private:
  struct Loss {
    Incarnation incarnation;  // this life of the peer, and all before it
    std::string why;
  };
  struct Retired {
    GroupId group;
    Generation generation;
  };
  void fail_receives_from(NodeId peer, const std::string& why);
  RecvOp* first_receive(const Arrival& arrival);
  Arrival* first_arrival(const Match& match);
  void wait(RecvOp& op);
  void wait(Arrival& arrival);
  void put(RecvOp& op);
  void put(Arrival& arrival);
  void unlink(RecvOp& op);

  Host* host_;
  // In the order in which they came; and by what they are looked for by.
  List<RecvOp, struct InMailbox> receives_;
  KeyTable<RecvOp, struct InReceivesByKey> receives_by_key_;  // of a sender or anyone, and a tag
  List<RecvOp, struct InReceivesByKey> broad_;                // whose masks leave bits out
  std::uint64_t posted_ = 0;
  std::size_t from_anyone_ = 0;  // receives that wait for no sender in particular
  List<Arrival, struct InArrivals> arrivals_;
  KeyTable<Arrival, struct InArrivalsOfSender> arrivals_of_sender_;  // and a tag
  KeyTable<Arrival, struct InArrivalsOfTag> arrivals_of_tag_;
  ViewPtr view_ = std::make_shared<const View>();
  std::map<NodeId, Loss> losses_;  // few: peers that are gone, until a newer life of them is met
  std::vector<Retired> retired_;
};

}  // namespace shoal
