// A view: the live nodes of the job, in the same order everywhere, with a generation number.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/recorder.h"
#include "base/types.h"

namespace shoal {

enum class Role : std::uint8_t { Worker, Server };

// Whether and how a job ends before its last step.
enum class Ending : std::uint8_t {
  No,
  Stopped,   // members make no more steps, but save their state and leave
  Complete,  // the same, but evaluate first: all requested steps are done
};

// Nodes are roles, not processes: several may share a process, and several processes a host.
struct Member {
  NodeId node;
  Role role = Role::Worker;
  std::uint32_t process = 0;
  HostId host;
  Incarnation incarnation;

  auto operator<=>(const Member&) const = default;
};

struct View {
  Generation generation;        // 0: no view yet
  std::vector<Member> members;  // by node; the index of a member is its rank
  Ending ending = Ending::No;

  auto operator<=>(const View&) const = default;
  std::size_t size() const { return members.size(); }
  const Member* find(NodeId node) const;
  bool has(NodeId node, Incarnation incarnation) const;
  std::optional<Rank> rank_of(NodeId node) const;
  NodeId at(Rank rank) const { return members[rank.value()].node; }
};

// Views are shared: ten thousand nodes of one process refer to the same one.
using ViewPtr = std::shared_ptr<const View>;

std::string describe(const View& view);
std::uint64_t hash_of(const View& view);  // covers members and incarnations
Event view_event(const View& view);       // for the flight recorder, when a node sees the view

// The coordinator's knowledge of a node that has asked to join.
struct Candidate {
  Member member;
  Time last_heard;  // by heartbeat
  // Silence of this node that counts as loss, if its heartbeats are known; 0: as in the options.
  Duration patience{};
  bool connection_lost = false;
  bool left = false;  // left in an orderly way
  NodeId suspected_by = kNobody;
  std::string why;  // of the suspicion
};

struct CoordinatorState {
  View view;
  Time started;
  std::vector<Candidate> candidates;  // members of the view, and nodes that wait to join
  Ending end = Ending::No;            // a node asked to end the job so,
  std::string why_end;                // for this reason
};

struct CoordinatorOptions {
  std::size_t expected = 1;                          // the first view waits for this many nodes,
  Duration form_limit = std::chrono::seconds(5);     // but no longer than this
  Duration suspect_after = std::chrono::seconds(1);  // silence that counts as loss
  // With fewer members there is no next view, and the others wait. Members that have left in an
  // orderly way count, so that the last ones can finish.
  std::size_t minimum = 1;
};

struct ViewDecision {
  std::optional<View> view;  // the next view; none if the present one remains
  std::string reason;        // always set
  bool waits = false;        // for absent nodes
};

// The coordinator's decision, as a pure function: the members as of now. Lost members and members
// that have left are dropped, live candidates are admitted; a new incarnation replaces the old one
// of the same node. A view without members (none yet, or all have left) forms anew. Once a view is
// ending, all later ones are.
ViewDecision decide_view(Time now, const CoordinatorState& state,
                         const CoordinatorOptions& options);

}  // namespace shoal
