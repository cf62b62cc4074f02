// The membership of an in-process job: one coordinator, which decides by decide_view, and each
// node's Membership.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"
#include "runtime/membership.h"
#include "runtime/view.h"

namespace shoal {

// Thread safety: every method may be called from any thread. Listeners are called under the lock,
// so that every node gets the views in order; they only pass the news on to their loop.
class InprocCoordinator {
 public:
  struct Listener {
    std::function<void(ViewPtr)> view;
    std::function<void(std::string why)> fenced;
  };
  using Clock = std::function<Time()>;

  InprocCoordinator(CoordinatorOptions options, Clock clock);

  void enter(const Member& member, Listener listener);
  void end_job(Ending how, const std::string& why);
  void leave(NodeId node, Incarnation life);  // in an orderly way
  void connection_lost(NodeId node, Incarnation life, const std::string& why);
  // `by` accuses that incarnation of `node`. Accusations by nodes outside the view have no effect.
  void suspect(const Member& by, NodeId node, Incarnation life, const std::string& why);
  void look();  // decides again, because time has passed

  View view() const;
  std::string reason() const;  // of the last decision

 private:
  using Life = std::pair<NodeId, Incarnation>;
  Candidate* find(NodeId node, Incarnation life);
  void decide();

  mutable std::mutex mutex_;  // guards all fields below
  CoordinatorOptions options_;
  Clock clock_;
  CoordinatorState state_;
  std::map<Life, Listener> listeners_;
  std::string reason_;
};

// Thread safety: that of Membership.
class InprocMembership final : public Membership {
 public:
  // `fence`: ends the node's endpoint, which then calls fenced().
  using Fence = std::function<void(const std::string& why)>;
  InprocMembership(InprocCoordinator& coordinator, NodeId node, Incarnation incarnation,
                   Fence fence)
      : coordinator_(&coordinator),
        node_(node),
        incarnation_(incarnation),
        fence_(std::move(fence)) {}

  void suspect(NodeId peer, const std::string& why) override;
  void end_job(Ending how, const std::string& why) override { coordinator_->end_job(how, why); }
  void leave() override { coordinator_->leave(node_, incarnation_); }

  // For the world.
  void view_arrived(ViewPtr view) { learn(std::move(view)); }
  void fenced(const std::string& why) { learn_fenced(why); }

 private:
  void failed(const std::string& why) override {
    coordinator_->connection_lost(node_, incarnation_, why);
    fence_(why);
  }

  InprocCoordinator* coordinator_;
  NodeId node_;
  Incarnation incarnation_;
  Fence fence_;
};

}  // namespace shoal
