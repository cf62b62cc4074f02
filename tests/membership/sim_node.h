// A node of a simulated job: it joins, follows its views, and rejoins when it is fenced. Tests
// check the History of all nodes and of the store's commits.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "membership/member.h"
#include "membership/sim_control.h"

namespace shoal {

class History {
 public:
  using Life = std::pair<NodeId, Incarnation>;

  // The first violation; empty if there is none.
  const std::string& violation() const { return violation_; }
  void fail(std::string what) {
    if (violation_.empty()) violation_ = std::move(what);
  }

  // A view was committed to the store.
  void committed(const View& view);
  // A process got a life, saw a view, was fenced.
  void joined(Life life);
  void saw(Life life, const View& view);
  void fenced(Life life, const std::string& why);

  const View& last() const { return last_; }
  // The newest view that a node sees in its current life; null if it has none.
  const View* seen_by(NodeId node) const;
  void forget(NodeId node) { present_.erase(node); }  // its process is gone
  const std::string& why_fenced(Life life) const { return fenced_.at(life); }
  std::size_t views() const { return committed_.size(); }
  std::size_t fencings() const { return fenced_.size(); }

 private:
  std::string violation_;
  View last_;
  std::map<Generation, View> committed_;
  std::map<NodeId, Incarnation> highest_;  // ever in a view
  std::set<Life> lives_;
  std::map<Life, std::string> fenced_;
  std::map<NodeId, std::pair<Incarnation, View>> present_;
};

struct SimNodeOptions {
  MemberOptions member;
  bool with_store = true;
};

// One process with one node.
struct SimNode {
  SimProcess* process = nullptr;
  JobMember* member = nullptr;     // while its program runs
  LiveMembership* life = nullptr;  // while it has one
};

// The process's options, for node = slot.
MemberOptions member_options(const SimProcess& process, std::size_t expected);
// Follows the views in the store, from outside the job.
Task<void> follow_store(SimJob& job, History& history, std::string key);
Task<void> node_program(SimNode& node, History& history, MemberOptions options, bool with_store);

}  // namespace shoal
