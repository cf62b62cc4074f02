#include "transport/inproc_coordinator.h"

#include <algorithm>

namespace shoal {

InprocCoordinator::InprocCoordinator(CoordinatorOptions options, Clock clock)
    : options_(options), clock_(std::move(clock)) {
  state_.started = clock_();
}

View InprocCoordinator::view() const {
  const std::lock_guard lock(mutex_);
  return state_.view;
}

std::string InprocCoordinator::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void InprocCoordinator::enter(const Member& member, Listener listener) {
  const std::lock_guard lock(mutex_);
  Candidate candidate;
  candidate.member = member;
  state_.candidates.push_back(candidate);
  listeners_[{member.node, member.incarnation}] = std::move(listener);
  decide();
}

void InprocCoordinator::end_job(Ending how, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (state_.end != Ending::No) return;
  state_.end = how;
  state_.why_end = why;
  decide();
}

void InprocCoordinator::leave(NodeId node, Incarnation life) {
  const std::lock_guard lock(mutex_);
  Candidate* const candidate = find(node, life);
  if (candidate == nullptr) return;
  candidate->left = true;
  listeners_.erase({node, life});  // it leaves in an orderly way, so it is not fenced
  decide();
}

void InprocCoordinator::connection_lost(NodeId node, Incarnation life, const std::string& why) {
  const std::lock_guard lock(mutex_);
  Candidate* const candidate = find(node, life);
  if (candidate == nullptr) return;
  candidate->connection_lost = true;
  candidate->why = why;
  listeners_.erase({node, life});
  decide();
}

void InprocCoordinator::suspect(const Member& by, NodeId node, Incarnation life,
                                const std::string& why) {
  const std::lock_guard lock(mutex_);
  Candidate* const candidate = find(node, life);
  if (candidate == nullptr || candidate->suspected_by != kNobody) return;
  if (!state_.view.has(by.node, by.incarnation)) return;
  candidate->suspected_by = by.node;
  candidate->why = why;
  decide();
}

void InprocCoordinator::look() {
  const std::lock_guard lock(mutex_);
  decide();
}

Candidate* InprocCoordinator::find(NodeId node, Incarnation life) {
  const auto it = std::ranges::find_if(state_.candidates, [&](const Candidate& c) {
    return c.member.node == node && c.member.incarnation == life;
  });
  return it == state_.candidates.end() ? nullptr : &*it;
}

void InprocCoordinator::decide() {
  const Time now = clock_();
  // Silence does not occur here: a node of this process is present, or it is reported as gone.
  for (Candidate& c : state_.candidates) c.last_heard = now;
  ViewDecision decision = decide_view(now, state_, options_);
  reason_ = std::move(decision.reason);
  if (!decision.view) return;
  state_.view = std::move(*decision.view);
  std::erase_if(state_.candidates, [&](const Candidate& c) {
    return !state_.view.has(c.member.node, c.member.incarnation);
  });

  const auto view = std::make_shared<const View>(state_.view);
  for (auto it = listeners_.begin(); it != listeners_.end();) {
    const auto& [life, listener] = *it;
    if (view->has(life.first, life.second)) {
      listener.view(view);
      ++it;
    } else {
      // It is alive but not in the view: evicted, or replaced by a newer incarnation of the same
      // node.
      listener.fenced(fmt::format("evicted from {}: {}", describe(*view), reason_));
      it = listeners_.erase(it);
    }
  }
}

void InprocMembership::suspect(NodeId peer, const std::string& why) {
  const Member* const accused = now().find(peer);
  const Member* const self = now().find(node_);
  if (accused == nullptr || self == nullptr) return;  // the view has changed already
  coordinator_->suspect(*self, peer, accused->incarnation, why);
}

}  // namespace shoal
