// The matching engine that every transport shares: receives wait for messages, and messages wait
// for receives.
//
// Cost: independent of the number of waiting ones, except for a receive whose mask omits bits.
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

// The flight recorder's event for a message.
Event message_event(EventKind kind, NodeId peer, const Tag& tag, Bytes size, std::uint64_t c);

// A message that has arrived and waits for its receive. Transports derive from it.
struct Arrival : ListHook<struct InArrivals>,
                 ListHook<struct InArrivalsOfSender>,
                 ListHook<struct InArrivalsOfTag> {
  NodeId from;
  Incarnation incarnation;
  Tag tag;
  Bytes size;

  // Removes it from the mailbox.
  void unlink() {
    ListHook<InArrivals>::unlink();
    ListHook<InArrivalsOfSender>::unlink();
    ListHook<InArrivalsOfTag>::unlink();
  }
};

// Thread safety: none. Invariants:
// 1. A message is matched at most once, to the first posted receive that accepts it.
// 2. No message of a retired generation is ever matched, and none that arrives from an ended
//    incarnation of its sender: replaced by a newer one, dead or evicted.
// 3. A receive never waits for a lost peer.
class Mailbox {
 public:
  // The transport's part: moves the payload, completes the receive, and releases the message.
  class Host {
   public:
    virtual ~Host() = default;
    // Called before a message is matched. False if its sender has withdrawn it: the message is
    // dropped, and the receive keeps its place.
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

  // Drops past and future messages of generations up to this one, and cancels their receives.
  void retire(GroupId group, Generation generation);
  bool retired(const Tag& tag) const;
  // The present peers and incarnations; a member that is missing or replaced is lost.
  void adopt(ViewPtr view);
  // The connection to this incarnation of a peer broke: receives from it fail, now and later.
  void lose(NodeId peer, Incarnation incarnation, const std::string& why);
  // This node was evicted: every receive fails with `error`.
  void fail_all(const std::exception_ptr& error);

  // Empty while messages may be exchanged with `peer`, else the reason why not.
  const std::string& lost(NodeId peer) const;
  Incarnation newest(NodeId peer) const;
  bool over(NodeId peer, Incarnation incarnation) const;  // whether that incarnation has ended
  bool has_receives() const { return !receives_.empty(); }
  // Waiting receives, oldest first, with the peer and the reason.
  struct Awaited {
    Match match;
    Bytes room;
  };
  std::vector<Awaited> waiting();
  std::vector<std::string> describe_waiting(const std::string& who);  // one line per receive

 private:
  struct Loss {
    Incarnation incarnation;  // this incarnation of the peer, and all before it
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
  // All in order of arrival, and indexed for lookup.
  List<RecvOp, struct InMailbox> receives_;
  KeyTable<RecvOp, struct InReceivesByKey> receives_by_key_;  // by sender (or any) and tag
  List<RecvOp, struct InReceivesByKey> broad_;                // their masks omit bits
  std::uint64_t posted_ = 0;
  std::size_t from_anyone_ = 0;  // receives without a given sender
  List<Arrival, struct InArrivals> arrivals_;
  KeyTable<Arrival, struct InArrivalsOfSender> arrivals_of_sender_;  // and by tag
  KeyTable<Arrival, struct InArrivalsOfTag> arrivals_of_tag_;
  ViewPtr view_ = std::make_shared<const View>();
  std::map<NodeId, Loss> losses_;  // few: lost peers, until a newer incarnation appears
  std::vector<Retired> retired_;
};

}  // namespace shoal
