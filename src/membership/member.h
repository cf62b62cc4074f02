// JobMember: a process's part in the membership of a job. It finds the coordinator, keeps a link to
// it, tells its node of every view, and takes over when the coordinator is lost.
//
//   JobMember member(env, net, &store, options);
//   co_await with_group([&](TaskGroup& group) -> Task<> {
//     group.spawn(member.run());                      // until the node has left
//     while (true) {
//       const std::shared_ptr<LiveMembership> life = co_await member.join();
//       try { co_await program(node, *life); break; }  // ends with life->leave()
//       catch (const Fenced&) {}                      // evicted while away: join again
//     }
//   });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "membership/control.h"
#include "membership/coordinator.h"
#include "membership/election.h"
#include "membership/heartbeat.h"
#include "membership/messages.h"
#include "membership/records.h"
#include "membership/store.h"
#include "runtime/channel.h"
#include "runtime/env.h"
#include "runtime/membership.h"
#include "runtime/task_group.h"

namespace shoal {

struct MemberOptions {
  JobOptions job;
  NodeId node;
  Role role = Role::Worker;
  HostId host;
  ProcessInfo process;
  std::string contact;                             // lets the transports of others reach this node
  std::string coordinator;                         // its address, if this process has no store
  Duration taken_limit = std::chrono::seconds(3);  // time for another holder of this node to die
  Duration find_limit = std::chrono::seconds(30);  // time for the coordinator at that address to
                                                   // appear
  Duration reach_limit = std::chrono::milliseconds(250);  // per connection attempt
  Duration leave_limit = std::chrono::seconds(1);         // time to deliver a goodbye
  // Called before the node's Membership learns of the view, so that the transport knows the
  // contacts.
  std::function<void(const ViewPtr&, const Contacts&)> on_view;
  // Called before the Membership learns of the eviction, so that the transport releases its ranges.
  std::function<void(const std::string& why)> on_fenced;
};

class JobMember;

// One incarnation of the node. Thread safety: as Membership's.
class LiveMembership final : public Membership {
 public:
  Incarnation incarnation() const { return incarnation_; }
  void suspect(NodeId peer, const std::string& why) override;
  void end_job(Ending how, const std::string& why) override;
  void leave() override;

 private:
  friend class JobMember;
  void failed(const std::string& why) override;
  LiveMembership(JobMember& member, Incarnation incarnation)
      : member_(&member), incarnation_(incarnation) {}
  JobMember* member_;
  Incarnation incarnation_;
};

// Thread safety: none; it belongs to the thread of its Env. Invariants:
// 1. An incarnation sees views in the order of their generations, each with itself in it, and none
//    after its eviction.
// 2. At most one term of office of this process runs at a time.
// 3. It takes the office from another process only while the store says that it is a member, or
//    that there are no members: an evicted node must not take over.
// Large class: the conversation with a coordinator and the office itself begin and end with the
// same events.
class JobMember {
 public:
  // `store` may be null: then the coordinator at options.coordinator is the only one. The
  // references outlive this object, which outlives its LiveMemberships.
  JobMember(Env& env, ControlNet& net, Store* store, MemberOptions options);
  ~JobMember();
  JobMember(const JobMember&) = delete;
  JobMember& operator=(const JobMember&) = delete;

  // Returns when the node has left. Throws ConfigError if the job refuses this process, and
  // LinkLost when the only coordinator is gone.
  Task<void> run();
  // The node's next incarnation, as soon as a view has it. REQUIRES: there is none, or the last one
  // has ended.
  Task<std::shared_ptr<LiveMembership>> join();
  // The contact of this incarnation.
  Task<std::shared_ptr<LiveMembership>> join(std::string contact);

  bool coordinates() const { return coordinator_ != nullptr; }

 private:
  friend class LiveMembership;
  // The problem with the coordinator that the store names.
  struct Trouble {
    std::string id;
    Time seen{};          // when we first saw it in office
    Time since{};         // when we last talked to it
    Time heard{};         // when its last message came
    bool talked = false;  // it has answered in this term
    bool gone = false;    // its process refuses connections, or says that it does not coordinate
    bool dead = false;    // nothing listens there
    bool silent = false;  // no answer
    bool broken = false;  // an established link broke
    std::string why;
  };

  // member.cc: the conversation with the coordinator.
  Task<void> attend();
  Task<std::unique_ptr<ControlLink>> reach(const Lead& lead);
  Task<void> converse(Lead lead, ControlLink& link);
  Task<void> listen(ControlLink& link);
  Task<void> speak(ControlLink& link);
  void handle(ControlLink& link, const Message& message);
  void take_view(const Roster& roster);
  void refused(const Refused& refusal);
  void introduce(ControlLink& link);
  void fence(const std::string& why);
  Time look();
  void say(const std::string& line) const;
  // For LiveMembership.
  void accuse(NodeId peer, Incarnation incarnation, const std::string& why);
  void end_job(Ending how, const std::string& why);
  void leave();

  // member_office.cc: finding the coordinator, and becoming it.
  Task<std::optional<Lead>> find();
  Task<std::optional<Lead>> find_fixed();
  Task<void> stand(const Entry& office, const Lead& lead);
  Task<void> run_for(Revision over, std::optional<Revision> view, Predecessor before);
  Task<void> serve_term();
  Task<void> accept_links();
  Task<void> hand_over(std::unique_ptr<ControlLink> link);
  Task<void> watch_office();
  Task<void> depart();
  bool may_depose() const;

  Env* env_;
  ControlNet* net_;
  Store* store_;
  MemberOptions options_;
  JobKeys keys_;
  TaskGroup* group_ = nullptr;  // while run() runs

  std::shared_ptr<LiveMembership> life_;  // null: none, or fenced
  Incarnation last_life_;                 // the newest so far
  bool wanted_ = false;                   // join() waits
  std::optional<EndJob> end_;             // requested by this node
  bool leaving_ = false;
  bool left_ = false;
  std::vector<Accusation> accusations_;  // against members of the present view

  ControlLink* link_ = nullptr;  // of the present conversation
  std::string talking_to_;       // the id of the coordinator that we contact or talk to
  GapMeter gaps_;
  Time last_look_{};
  bool ever_talked_ = false;
  Trouble trouble_;
  std::optional<Time> taken_since_;
  bool ask_again_ = false;
  std::uint64_t attempts_ = 0;  // to join

  bool electing_ = false;
  std::uint64_t terms_ = 0;
  std::unique_ptr<JobCoordinator> coordinator_;
  bool moved_ = false;  // another process has the office
  Signal changed_;      // any of the above
};

}  // namespace shoal
