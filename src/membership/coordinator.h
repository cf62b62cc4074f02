// JobCoordinator: one term of office. It hears the members, decides by decide_view who takes part,
// commits every view to the store on the condition that the office is still its own, and only then
// publishes it. See docs/failure.md.
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
  std::string job = "job";            // its name; another one's processes are refused
  std::string prefix = "shoal/job/";  // of its keys in the store
  CoordinatorOptions view;            // when there is a first view, what counts as loss
  Duration heartbeat = std::chrono::milliseconds(100);
  Duration lease = std::chrono::seconds(3);  // of the office; see election.h
  LogLine log;                               // a line for every decision; may be null
};

enum class TermEnd : std::uint8_t {
  AllLeft,   // every member said goodbye: the job is over
  Deposed,   // somebody else has the office, or the lease ran out
  Resigned,  // we were asked to
};

// Thread safety: none; it belongs to the thread of its Env. Invariants:
// 1. Nobody is told of a view, an incarnation or an eviction that the store does not hold.
// 2. A life is in the roster, or it waits to be let in; whoever drops out of the roster is told,
//    where a link to it is left, before it hears of any later view.
// 3. Generations and the incarnations of a node only grow, over all terms.
class JobCoordinator {
 public:
  // `contested`: members have the store and may take over. The env and the store outlive this.
  JobCoordinator(Env& env, Store& store, JobOptions options, Office office, bool contested);
  ~JobCoordinator();
  JobCoordinator(const JobCoordinator&) = delete;
  JobCoordinator& operator=(const JobCoordinator&) = delete;

  // Once; all links are closed when it returns.
  Task<TermEnd> run();
  void welcome(std::unique_ptr<ControlLink> link);
  void resign();

  const Lead& lead() const { return office_.lead; }
  View view() const { return record_.roster.view(); }
  const std::string& last_words() const { return why_ended_; }  // why the term ended
  // No member is left but those of this process.
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
    Session* session = nullptr;  // null: it has not come back since we took over, or it is lost
    Time heard{};                // where there is no session
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

  // coordinator_sessions.cc: what comes in over the links.
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

  ViewRecord record_;  // as committed; `highest` also counts those who wait to be let in
  View view_;          // of record_
  std::vector<Life> lives_;
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
  std::uint64_t last_session_ = 0;
  std::vector<std::unique_ptr<ControlLink>> early_;  // came before run() had read the view
  std::map<std::uint64_t, std::uint64_t> attempts_;  // the last of every process to join
  std::map<NodeId, std::pair<Incarnation, std::string>> evicted_;  // the last life, and why
  TaskGroup* group_ = nullptr;                                     // while run() runs

  Time started_{};
  Time last_look_{};
  bool dirty_ = false;
  Signal changed_;
  Ending job_end_ = Ending::No;  // a member asked that the job ends so,
  std::string why_end_;          // and why
  std::string last_reason_;      // that was said why there is no view yet
  std::string last_refusal_;
  std::optional<TermEnd> end_;
  std::string why_ended_;
};

// A coordinator of its own, for a launcher: takes the office, accepts links, ends when all members
// have left. Throws ConfigError when somebody else coordinates this job.
Task<TermEnd> coordinate(Env& env, ControlNet& net, Store& store, JobOptions options,
                         ProcessInfo who);

}  // namespace shoal
