// A mailbox under test: an endpoint whose messages the test delivers, and a log of all matches.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness.h"
#include "runtime/mailbox.h"

namespace shoal {

struct Message : Arrival {
  std::uint64_t number = 0;
};

// An endpoint that is only a mailbox: the test delivers the messages.
class FakeEndpoint final : public Endpoint, private Mailbox::Host {
 public:
  explicit FakeEndpoint(std::vector<std::string>& dropped) : dropped_(&dropped), mailbox(*this) {}
  NodeId self() const override { return NodeId(0); }
  Task<void> retire(GroupId group, Generation generation) override {
    mailbox.retire(group, generation);
    co_return;
  }
  // Delivers a message; its number is the log's name for it.
  void deliver(NodeId from, Incarnation life, Tag tag) {
    Message& m = messages_.emplace_back();
    m.from = from;
    m.incarnation = life;
    m.tag = tag;
    m.number = messages_.size();
    mailbox.deliver(m);
  }
  std::set<std::uint64_t> taken_back;  // numbers of messages that their senders cancelled

 private:
  std::vector<std::string>* dropped_;
  std::deque<Message> messages_;

 public:
  Mailbox mailbox;

 private:
  void start_send(SendOp&) override { FAIL() << "nobody sends here"; }
  void abort_send(SendOp&) override {}
  void start_recv(RecvOp& op) override { mailbox.post(op); }
  void abort_recv(RecvOp& op) override { mailbox.cancel(op); }
  bool claim(Arrival& arrival) override {
    return !taken_back.contains(static_cast<Message&>(arrival).number);
  }
  void matched(RecvOp& op, Arrival& arrival) override {
    Received result;
    result.from = arrival.from;
    result.id = static_cast<Message&>(arrival).number;
    op.received(result);
  }
  void dropped(Arrival& arrival, DropReason reason) override {
    const char* why = "for no reason";
    if (reason == DropReason::OldIncarnation) why = "old incarnation";
    if (reason == DropReason::Retired) why = "retired";
    if (reason == DropReason::ReceiverGone) why = "receiver gone";
    if (reason == DropReason::Cancelled) why = "cancelled";
    dropped_->push_back(std::to_string(static_cast<Message&>(arrival).number) + ": " + why);
  }
};

class MailboxTest : public RuntimeTest {
 protected:
  static Tag tag(std::uint64_t id, std::uint32_t generation = 0, std::uint16_t group = 1) {
    return Tag{GroupId(group), Generation(generation), id};
  }
  static Match from(std::uint32_t node, Tag t) { return Match{NodeId(node), t, kWholeId}; }
  static Match anyone(Tag t) { return Match{kAnyone, t, kWholeId}; }
  static ViewPtr view(std::uint32_t generation, std::vector<std::pair<int, int>> members) {
    View v;
    v.generation = Generation(generation);
    for (const auto& [node, life] : members) {
      Member m;
      m.node = NodeId(static_cast<std::uint32_t>(node));
      m.incarnation = Incarnation(static_cast<std::uint32_t>(life));
      v.members.push_back(m);
    }
    return std::make_shared<const View>(v);
  }
  // Posts a receive; the log tells which message it got, "name<-number".
  Watched& receive(std::string name, Match match) {
    return start(receiving(std::move(name), match));
  }
  void deliver(std::uint32_t node, Tag t, std::uint32_t life = 1) {
    endpoint.deliver(NodeId(node), Incarnation(life), t);
    run();
  }

  Task<> receiving(std::string name, Match match) {
    const Received r = co_await endpoint.recv(match, MutBuf());
    log.push_back(name + "<-" + std::to_string(r.id));
  }

  std::vector<std::string> dropped;
  FakeEndpoint endpoint{dropped};
  Mailbox& mailbox = endpoint.mailbox;
  std::vector<std::string> log;
};

}  // namespace shoal
