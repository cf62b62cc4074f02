// JobMember: a process's part in a job. It finds the coordinator, keeps a link to it, tells its
// node of every view, and takes over when the coordinator is lost.
//
//   JobMember member(env, net, &store, options);
//   co_await with_group([&](TaskGroup& group) -> Task<> {
//     group.spawn(member.run());                      // until the node has left
//     while (true) {
//       const std::shared_ptr<LiveMembership> life = co_await member.join();
//       try { co_await program(node, *life); break; }  // ends with life->leave()
//       catch (const Fenced&) {}                      // evicted while away: join as a new life
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
  std::string contact;                             // how the transports of others reach this node
  std::string coordinator;                         // its address, where this process has no store
  Duration taken_limit = std::chrono::seconds(3);  // for another holder of our node to die
  Duration find_limit = std::chrono::seconds(30);  // for the coordinator at that address to appear
  Duration reach_limit = std::chrono::milliseconds(250);  // for one connection to be made
  Duration leave_limit = std::chrono::seconds(1);         // for a goodbye to be heard
  // Called before the node's Membership learns of the view, so that the transport knows them.
  std::function<void(const ViewPtr&, const Contacts&)> on_view;
  // Called before it learns that this life is out, so that the transport lets go of its ranges.
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
// 1. A life sees views in the order of their generations, each with itself in it, and after its
//    eviction none.
// 2. At most one term of office of this process runs at a time.
// 3. It takes the office from another only while the store says that it is a member, or that there
//    is none: an evicted member may not decide anything.
// Large class: the conversation with a coordinator and the office itself begin and end with the
// same events.
class JobMember {
 public:
  // `store` may be null: then the coordinator at options.coordinator is the only one there is. The
  // references outlive this, this outlives its lives.
  JobMember(Env& env, ControlNet& net, Store* store, MemberOptions options);
  ~JobMember();
  JobMember(const JobMember&) = delete;
  JobMember& operator=(const JobMember&) = delete;

  // Returns when the node has left. Throws ConfigError when the job will not have this process, and
  // LinkLost when the only coordinator is gone.
  Task<void> run();
  // The node's next life, as soon as a view has it. REQUIRES: the one before has ended, or none.
  Task<std::shared_ptr<LiveMembership>> join();
  Task<std::shared_ptr<LiveMembership>> join(std::string contact);  // by which this life is reached

  bool coordinates() const { return coordinator_ != nullptr; }

 private:
  friend class LiveMembership;
  // What is wrong with the coordinator that the store names.
  struct Trouble {
    std::string id;
    Time seen{};          // when we first saw it in office
    Time since{};         // when we last talked to it
    Time heard{};         // the last message of it
    bool talked = false;  // it has answered us, in this term
    bool gone = false;    // its process refuses connections, or says that it does not coordinate
    bool dead = false;    // nobody listens there
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
  // For the life.
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
  Incarnation last_life_;                 // the newest we ever had
  bool wanted_ = false;                   // join() waits
  std::optional<EndJob> end_;             // we asked for it
  bool leaving_ = false;
  bool left_ = false;
  std::vector<Accusation> accusations_;  // against members of the present view

  ControlLink* link_ = nullptr;  // of the present conversation
  std::string talking_to_;       // the id of the coordinator that we reach for or talk to
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
  bool moved_ = false;  // somebody else is in office
  Signal changed_;      // any of the above
};

}  // namespace shoal
