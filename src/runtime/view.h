// A view: the live nodes of the job, in one order for all, under a generation number.
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

// Whether and how a job is to end before its last step.
enum class Ending : std::uint8_t {
  No,
  Stopped,   // members make no more steps, but save what is to be saved, and leave
  Complete,  // the same, but first evaluate: there were to be no more steps
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

// Views are shared: ten thousand nodes of one process hold the same one.
using ViewPtr = std::shared_ptr<const View>;

std::string describe(const View& view);
std::uint64_t hash_of(const View& view);  // of its members and their lives
Event view_event(const View& view);       // that a node has seen it, for the flight recorder

// What the coordinator knows of one node that has asked to take part.
struct Candidate {
  Member member;
  Time last_heard;  // by heartbeat
  // Silence of this one that counts as loss, where its heartbeats are known; 0: as the options say.
  Duration patience{};
  bool connection_lost = false;
  bool left = false;  // said goodbye
  NodeId suspected_by = kNobody;
  std::string why;  // of the suspicion
};

struct CoordinatorState {
  View view;
  Time started;
  std::vector<Candidate> candidates;  // members of the view, and those who wait to be let in
  Ending end = Ending::No;            // somebody asked that the job ends so,
  std::string why_end;                // and said why
};

struct CoordinatorOptions {
  std::size_t expected = 1;                          // the first view waits for as many,
  Duration form_limit = std::chrono::seconds(5);     // but no longer than this
  Duration suspect_after = std::chrono::seconds(1);  // silence that counts as loss
  // With fewer there is no next view: whoever is left waits. Those who have left in peace count, so
  // that the last can finish.
  std::size_t minimum = 1;
};

struct ViewDecision {
  std::optional<View> view;  // the next view; nothing when the present one stands
  std::string reason;        // always says why
  bool waits = false;        // for nodes that are not here
};

// The coordinator's one decision, pure: who is in, as of now. Members lost or gone are dropped,
// candidates heard of are let in; a new incarnation replaces the old one of the same node. A view
// without members (none yet, or all have left) forms anew. Once a view is ending all later ones
// are.
ViewDecision decide_view(Time now, const CoordinatorState& state,
                         const CoordinatorOptions& options);

}  // namespace shoal
