#include "sim/coordinator.h"

#include <algorithm>

#include "sim/world.h"

namespace shoal {

using namespace std::chrono_literals;

namespace {
constexpr Duration kHeartbeat = 100ms;
constexpr Duration kNewsMin = 100us;  // for a report to the coordinator, or a view from it
constexpr Duration kNewsMax = 5ms;
}  // namespace

void SimMembership::suspect(NodeId peer, const std::string& why) {
  const Member* accused = now().find(peer);
  const Member* self = now().find(node_);
  if (accused == nullptr || self == nullptr) return;  // the view has changed already
  world_->report([w = world_, by = *self, peer, life = accused->incarnation, why] {
    w->coordinator().suspect(by, peer, life, why);
  });
}

void SimMembership::end_job(Ending how, const std::string& why) {
  world_->report([w = world_, how, why] { w->end_job(how, why); });
}

void SimMembership::leave() {
  world_->report(
      [w = world_, node = node_, life = incarnation_] { w->coordinator().leave(node, life); });
}

void SimMembership::failed(const std::string& why) {
  suspect(node_, why);
  world_->fence(node_, why);
}

Coordinator::Coordinator(World& world, Seed seed, CoordinatorOptions options)
    : world_(&world), random_(seed, Purpose::Membership), options_(options) {}

void Coordinator::start() {
  state_.started = world_->now();
  world_->at(world_->now() + kHeartbeat, [this] { listen(); });
}

Candidate* Coordinator::find(NodeId node, Incarnation life) {
  const auto it = std::ranges::find_if(state_.candidates, [&](const Candidate& c) {
    return c.member.node == node && c.member.incarnation == life;
  });
  return it == state_.candidates.end() ? nullptr : &*it;
}

void Coordinator::listen() {
  const Time now = world_->now();
  for (Candidate& c : state_.candidates)
    if (world_->hears(c.member.node, c.member.incarnation)) c.last_heard = now;
  // Two members may reach the coordinator but not each other: the one that is not heard is
  // reported.
  for (const auto& [link, cut] : world_->network().cuts()) {
    const Member* from = state_.view.find(link.first);
    const Member* to = state_.view.find(link.second);
    if (from == nullptr || to == nullptr) continue;
    if (!world_->hears(to->node, to->incarnation)) continue;
    const Time since =
        std::max({cut.since, world_->started(from->node), world_->started(to->node)});
    if (now - since > options_.suspect_after)
      suspect(*to, from->node, from->incarnation, "no heartbeat from it");
  }
  // Applicants keep asking.
  world_->each_applicant([this](const Member& member) { join(member); });
  decide();
  if (world_->unfinished()) world_->at(now + kHeartbeat, [this] { listen(); });
}

void Coordinator::join(const Member& member) {
  if (find(member.node, member.incarnation) != nullptr) return;  // it asks until it is admitted
  Candidate candidate;
  candidate.member = member;
  candidate.last_heard = world_->now();
  state_.candidates.push_back(candidate);
  decide();
}

void Coordinator::end_job(Ending how, const std::string& why) {
  if (state_.end != Ending::No) return;
  state_.end = how;
  state_.why_end = why;
  decide();
}

void Coordinator::leave(NodeId node, Incarnation life) {
  if (Candidate* c = find(node, life)) c->left = true;
  decide();
}

void Coordinator::connection_lost(NodeId node, Incarnation life) {
  if (Candidate* c = find(node, life)) c->connection_lost = true;
  decide();
}

void Coordinator::suspect(const Member& by, NodeId node, Incarnation life, const std::string& why) {
  Candidate* accused = find(node, life);
  if (!state_.view.has(by.node, by.incarnation) || accused == nullptr) return;
  if (accused->suspected_by != kNobody) return;
  accused->suspected_by = by.node;
  accused->why = why;
  decide();
}

void Coordinator::decide() {
  ViewDecision decision = decide_view(world_->now(), state_, options_);
  reason_ = decision.reason;
  if (!decision.view) return;
  state_.view = std::move(*decision.view);
  // A dropped node, or one replaced by a newer incarnation, is out for good.
  std::erase_if(state_.candidates, [&](const Candidate& c) {
    return !state_.view.has(c.member.node, c.member.incarnation);
  });
  publish();
}

void Coordinator::publish() {
  published_ = std::make_shared<const View>(state_.view);
  for (std::uint32_t node = 0; node < world_->cluster().nodes.size(); ++node)
    world_->announce(NodeId(node), published_, random_.duration(kNewsMin, kNewsMax));
}

}  // namespace shoal
