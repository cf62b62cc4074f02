// The World's faults: carries out a plan and undoes it.
#include <algorithm>

#include "sim/world.h"

namespace shoal {

using namespace std::chrono_literals;

namespace {

Event event_of(EventKind kind, NodeId peer = kNobody, std::uint64_t a = 0, double factor = 0) {
  Event event;
  event.kind = kind;
  event.peer = peer;
  event.a = a;
  event.b = static_cast<std::uint64_t>(factor * 1000);
  return event;
}

}  // namespace

bool World::kill(NodeId node, bool power_loss) {
  Slot& s = slot(node);
  if (s.state != State::Up) return false;
  s.life->env.record(event_of(EventKind::NodeCrashed));
  s.state = State::Ending;  // from here on it neither sends nor receives
  s.life->tasks.cancel();
  ending_.push_back(node);
  if (power_loss) {
    const std::size_t lost = disk_.crash(node);
    if (lost > 0) record(event_of(EventKind::FileDataLost, node, lost));
  }
  // The other ends of its connections notice.
  const Incarnation life = s.incarnation;
  for (std::uint32_t other = 0; other < slots_.size(); ++other) {
    if (slots_[other].state != State::Up) continue;
    at_node(NodeId(other), now() + random_.duration(500us, 17ms), [this, other, node, life] {
      slots_[other].life->endpoint.lose(node, life, "connection reset");
    });
  }
  at(now() + random_.duration(500us, 17ms),
     [this, node, life] { coordinator_.connection_lost(node, life); });
  return true;
}

void World::restart(NodeId node) {
  if (slot(node).state == State::Down && slot(node).life == nullptr) start(node);
}

void World::restart_at(NodeId node, Time when) {
  ++restarts_;
  at(when, [this, node] {
    --restarts_;
    restart(node);
  });
}

bool World::freeze(NodeId node) {
  Slot& s = slot(node);
  if (s.state != State::Up || s.frozen) return false;
  s.life->env.record(event_of(EventKind::NodeFrozen));
  s.frozen = true;
  return true;
}

void World::thaw(NodeId node) {
  Slot& s = slot(node);
  if (!s.frozen) return;
  s.frozen = false;
  if (s.state == State::Up) s.life->env.record(event_of(EventKind::NodeThawed));
  for (Occurrence* o : std::exchange(s.waiting, {})) queue_.schedule(now(), *o);
}

void World::set_cut(NodeId node, bool cut) {
  for (std::uint32_t other = 0; other < slots_.size(); ++other) {
    if (NodeId(other) == node) continue;
    if (cut) {
      network_.cut(node, NodeId(other));
      network_.cut(NodeId(other), node);
    } else {
      network_.heal(node, NodeId(other));
      network_.heal(NodeId(other), node);
    }
  }
}

void World::apply(const Fault& f) {
  if (healed_) return;
  record(event_of(EventKind::FaultBegun, f.node, static_cast<std::uint64_t>(f.kind), f.factor));
  // A fault that hits a dead node does not count.
  if (strike(f)) ++fired_[static_cast<std::size_t>(f.kind)];
  if (f.lasting <= Duration(0) || f.kind == FaultKind::Traffic) return;
  if (f.kind == FaultKind::Kill || f.kind == FaultKind::PowerLoss)
    return restart_at(f.node, now() + f.lasting);
  at(now() + f.lasting, [this, f] { undo(f); });
}

bool World::strike(const Fault& f) {
  const HostId host = cluster_.nodes[f.node.value()].host;
  switch (f.kind) {
    case FaultKind::Kill:
    case FaultKind::PowerLoss: return kill(f.node, f.kind == FaultKind::PowerLoss);
    case FaultKind::Freeze: return freeze(f.node);
    case FaultKind::SlowDown: cpus_[host.value()].slow *= f.factor; break;
    case FaultKind::Partition:
      cut_off_.push_back(f.node);
      set_cut(f.node, true);
      break;
    case FaultKind::OneWayCut: network_.cut(f.node, f.peer); break;
    case FaultKind::LinkSlow: network_.set_slow(host, f.factor); break;
    case FaultKind::Delay:
    case FaultKind::Reorder:
      network_.set_delays(from_seconds(f.factor * 1e-3), f.kind == FaultKind::Reorder);
      break;
    case FaultKind::Traffic: network_.occupy(host, f.lasting); break;
  }
  return true;
}

void World::undo(const Fault& f) {
  if (healed_) return;
  record(event_of(EventKind::FaultEnded, f.node, static_cast<std::uint64_t>(f.kind)));
  const HostId host = cluster_.nodes[f.node.value()].host;
  switch (f.kind) {
    case FaultKind::Kill:
    case FaultKind::PowerLoss:
    case FaultKind::Traffic: break;
    case FaultKind::Freeze: thaw(f.node); break;
    case FaultKind::SlowDown: cpus_[host.value()].slow /= f.factor; break;
    case FaultKind::Partition:
      cut_off_.erase(std::ranges::find(cut_off_, f.node));
      if (!cut_off(f.node)) set_cut(f.node, false);
      for (const NodeId other : cut_off_) set_cut(other, true);
      break;
    case FaultKind::OneWayCut:
      if (!cut_off(f.node) && !cut_off(f.peer)) network_.heal(f.node, f.peer);
      break;
    case FaultKind::LinkSlow: network_.set_slow(host, 1); break;
    case FaultKind::Delay:
    case FaultKind::Reorder: network_.set_delays(Duration(0), false); break;
  }
}

void World::heal_everything() {
  healed_ = true;
  cut_off_.clear();
  while (!network_.cuts().empty()) {
    const auto link = network_.cuts().begin()->first;
    network_.heal(link.first, link.second);
  }
  network_.set_delays(Duration(0), false);
  for (std::uint32_t host = 0; host < cluster_.hosts.size(); ++host) {
    network_.set_slow(HostId(host), 1);
    cpus_[host].slow = 1 / cluster_.hosts[host].speed;
  }
  record(event_of(EventKind::FaultEnded));
  for (std::uint32_t node = 0; node < slots_.size(); ++node) {
    thaw(NodeId(node));
    restart(NodeId(node));
  }
}

}  // namespace shoal
