// JobCoordinator: one term of office. It monitors the members, decides by decide_view on the next
// view, commits every view to the store on the condition that it still has the office, and only
// then publishes the view. See docs/failure.md.
//
//   std::optional<Office> office = co_await run_for_office(..);
//   JobCoordinator coordinator(env, store, options, *office);
//   group.spawn(.. coordinator.welcome(co_await net.accept()) ..);
//   const TermEnd end = co_await coordinator.run();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"
#include "membership/control.h"
#include "membership/election.h"
#include "membership/heartbeat.h"
#include "membership/messages.h"
#include "membership/records.h"
#include "membership/store.h"
#include "runtime/channel.h"
#include "runtime/env.h"
#include "runtime/task_group.h"
#include "runtime/view.h"

namespace shoal {

using LogLine = std::function<void(const std::string& line)>;

struct JobOptions {
  std::string job = "job";            // processes of another job are refused
  std::string prefix = "shoal/job/";  // of the job's keys in the store
  CoordinatorOptions view;            // when the first view forms, and which silence counts as loss
  Duration heartbeat = std::chrono::milliseconds(100);
  Duration lease = std::chrono::seconds(3);  // of the office; see election.h
  LogLine log;                               // a line for every decision; may be null
};

enum class TermEnd : std::uint8_t {
  AllLeft,   // every member has left: the job is over
  Deposed,   // another process has the office, or the lease ran out
  Resigned,  // on request
};

// Thread safety: none; it belongs to the thread of its Env. Invariants:
// 1. A view, an incarnation or an eviction is announced only when the store holds it.
// 2. An incarnation is in the roster or waits to be admitted. One that leaves the roster is told
//    so, if there is a link to it, before it hears of any later view.
// 3. Generations and the incarnations of a node only grow, over all terms.
class JobCoordinator {
 public:
  // `contested`: members have the store and may take over. The env and the store outlive this
  // object.
  JobCoordinator(Env& env, Store& store, JobOptions options, Office office, bool contested);
  ~JobCoordinator();
  JobCoordinator(const JobCoordinator&) = delete;
  JobCoordinator& operator=(const JobCoordinator&) = delete;

  // Call once; all links are closed when it returns.
  Task<TermEnd> run();
  void welcome(std::unique_ptr<ControlLink> link);
  void resign();

  const Lead& lead() const { return office_.lead; }
  View view() const { return record_.roster.view(); }
  // The reason for the end of the term.
  const std::string& last_words() const { return why_ended_; }
  // All remaining members are in this process.
  bool alone(std::uint64_t instance) const;

 private:
  struct Session {
    Session(std::uint64_t number, std::unique_ptr<ControlLink> its, Time now)
        : id(number), link(std::move(its)), gaps(now) {}
    std::uint64_t id;
    std::unique_ptr<ControlLink> link;
    GapMeter gaps;
    bool closing = false;
    Signal closed;
  };
  struct Life {
    Admitted row;
    Session* session = nullptr;  // null: it has not reconnected since this term began, or it is
                                 // lost
    Time heard{};                // used without a session
    bool lost = false;
    bool left = false;
    NodeId suspected_by = kNobody;
    std::string why;
    bool out() const { return lost || left || suspected_by != kNobody; }
  };

  // coordinator.cc: the term and its decisions.
  Task<void> load();
  Task<void> decide();
  Task<void> commit(View view, std::string reason);
  Task<void> close_job();
  Task<void> keep_lease();
  Task<void> watch_office();
  CoordinatorState state();
  void drop_outsiders(const Roster& before);
  void publish();
  void finish(TermEnd end, std::string why);
  bool everyone_left() const;
  Time look();
  void say(const std::string& line) const;
  void wake();

  // coordinator_sessions.cc: messages of the links.
  Task<void> attend(Session& session);
  Task<void> read(Session& session);
  Task<void> beat();
  void handle(Session& session, const Message& message);
  void join(Session& session, const Join& join);
  void enter(Session& session, const Join& join, const Applicant& applicant);
  void come_back(Session& session, const Join& join, const Applicant& applicant);
  void accuse(Session& session, NodeId by, const Accusation& accusation);
  void end_job(Session& session, const EndJob& asked);
  void leave(Session& session, NodeId node);
  void drop(Session& session, const std::string& why);
  void refuse(Session& session, Refusal kind, std::string why);
  void tell_evicted(Session& session, NodeId node, Incarnation incarnation);
  bool in_view(const Life& life) const;
  Life* find(NodeId node, Incarnation incarnation);
  Time heard(const Life& life) const;
  Duration patience(const Life& life) const;

  Env* env_;
  Store* store_;
  JobOptions options_;
  Office office_;
  bool contested_;
  JobKeys keys_;

  ViewRecord record_;  // as committed; `highest` also counts applicants
  View view_;          // of record_
  std::vector<Life> lives_;
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  std::uint64_t last_session_ = 0;
  std::vector<std::unique_ptr<ControlLink>> early_;  // links from before run() had read the view
  std::map<std::uint64_t, std::uint64_t> attempts_;  // each process's latest attempt to join
  // The last incarnation, and the reason.
  std::map<NodeId, std::pair<Incarnation, std::string>> evicted_;
  TaskGroup* group_ = nullptr;  // while run() runs

  Time started_{};
  Time last_look_{};
  bool dirty_ = false;
  Signal changed_;
  Ending job_end_ = Ending::No;  // a member asked to end the job so,
  std::string why_end_;          // for this reason
  std::string last_reason_;      // the last logged reason for having no view yet
  std::string last_refusal_;
  std::optional<TermEnd> end_;
  std::string why_ended_;
};

// Runs a coordinator by itself, for a launcher: takes the office, accepts links, and ends when all
// members have left. Throws ConfigError if another process coordinates this job.
Task<TermEnd> coordinate(Env& env, ControlNet& net, Store& store, JobOptions options,
                         ProcessInfo who);

}  // namespace shoal
