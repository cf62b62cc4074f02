// The simulated membership: a coordinator that decides by decide_view, from simulated heartbeats
// and broken connections; and each node's Membership.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "runtime/membership.h"
#include "runtime/view.h"
#include "sim/event_queue.h"

namespace shoal {

class World;

class SimMembership final : public Membership {
 public:
  SimMembership(World& world, NodeId node, Incarnation incarnation)
      : world_(&world), node_(node), incarnation_(incarnation) {}
  void suspect(NodeId peer, const std::string& why) override;
  void end_job(Ending how, const std::string& why) override;
  void leave() override;

  // For the world.
  void view_arrived(const ViewPtr& view) { learn(view); }
  void fence(const std::string& why) { learn_fenced(why); }

 private:
  void failed(const std::string& why) override;
  World* world_;
  NodeId node_;
  Incarnation incarnation_;
};

// Reports reach the coordinator, and views reach the nodes, after random delays. A frozen or
// disconnected node neither sends nor receives.
class Coordinator {
 public:
  Coordinator(World& world, Seed seed, CoordinatorOptions options);

  void start();  // begins to monitor heartbeats
  void join(const Member& member);
  void end_job(Ending how, const std::string& why);
  void leave(NodeId node, Incarnation life);
  void connection_lost(NodeId node, Incarnation life);
  // `by` accuses that incarnation of `node`.
  void suspect(const Member& by, NodeId node, Incarnation life, const std::string& why);

  const CoordinatorState& state() const { return state_; }
  const std::string& last_reason() const { return reason_; }

 private:
  Candidate* find(NodeId node, Incarnation life);
  void listen();  // one round of heartbeats
  void decide();
  void publish();  // the present view, to all nodes

  World* world_;
  Random random_;
  CoordinatorOptions options_;
  CoordinatorState state_;
  ViewPtr published_;
  std::string reason_;
};

}  // namespace shoal
