#include "sim/network.h"

#include <algorithm>

namespace shoal {

Network::Network(const Cluster& cluster, Seed seed, EventQueue& queue)
    : cluster_(&cluster), queue_(&queue), random_(seed, Purpose::Network) {
  for (std::uint32_t h = 0; h < cluster.hosts.size(); ++h) {
    const HostModel& host = cluster.hosts[h];
    out_.push_back(Lane{host.nic, {}, 1, HostId(h)});
    // The sender's side charges the latency, so a message pays it once.
    LinkModel in = host.nic;
    in.latency = Duration(0);
    in_.push_back(Lane{in, {}, 1, HostId(h)});
    // Both ends are on this host.
    LinkModel memory = host.memory;
    memory.cpu_ns_per_byte *= 2;
    memory_.push_back(Lane{memory, {}, 1, HostId(h)});
  }
  for (const LinkModel& uplink : cluster.racks) {
    up_.push_back(Lane{uplink, {}, 1});
    LinkModel down = uplink;
    down.latency = Duration(0);
    down_.push_back(Lane{down, {}, 1});
  }
}

Network::Route Network::route(const Transit& t) {
  const HostId from = cluster_->nodes[t.source.value()].host;
  const HostId to = cluster_->nodes[t.destination.value()].host;
  if (from == to) return Route{{&memory_[from.value()]}, 1};
  Route r{{&out_[from.value()]}, 1};
  if (!cluster_->racks.empty()) {
    const auto& rack_from = cluster_->hosts[from.value()].rack;
    const auto& rack_to = cluster_->hosts[to.value()].rack;
    if (rack_from && rack_from != rack_to) r.lanes[r.count++] = &up_[*rack_from];
    if (rack_to && rack_from != rack_to) r.lanes[r.count++] = &down_[*rack_to];
  }
  r.lanes[r.count++] = &in_[to.value()];
  return r;
}

void Network::send(Transit& transit) {
  transit.lane_ = 0;
  transit.tail_ = queue_->now();
  advance(transit);
}

void Network::advance(Transit& t) {
  const Route r = route(t);
  const bool last = t.lane_ + 1 == r.count;
  if (last && r.count > 1 && hold(t.source, t.destination, t)) return;
  Lane& lane = *r.lanes[t.lane_];
  Duration transmit = lane.model.transmit(t.wire_size);
  if (lane.slow != 1) transmit = from_seconds(seconds(transmit) * lane.slow);
  Time start = std::max(queue_->now(), lane.free);
  const Bytes above = lane.model.one_way_above;
  if (t.lane_ == 0 && above > Bytes(0) && t.wire_size > above) {
    Time& turn = turn_of(t);
    start = std::max(start, turn);
    turn = start + transmit;
  }
  lane.free = start + transmit;
  if (busy_ && lane.host && transmit > Duration(0) && lane.model.cpu_ns_per_byte > 0)
    busy_(*lane.host, lane.model.load(), start, lane.free);
  t.tail_ = std::max(t.tail_, lane.free) + lane.model.latency;
  if (last) {
    t.lane_ = kThrough;
    t.arrived();
    return queue_->schedule(t.tail_, t);
  }
  ++t.lane_;
  Time head = start + lane.model.latency;
  if (t.lane_ + 1 == r.count) head = delayed(t, head);
  queue_->schedule(head, t);
}

Time& Network::turn_of(const Transit& t) { return turns_[std::minmax(t.source, t.destination)]; }

Time Network::delayed(const Transit& t, Time head) {
  if (delay_max_ == Duration(0) && floors_.empty()) return head;
  if (delay_max_ > Duration(0))
    head += from_seconds(seconds(delay_max_) * random_.uniform() * random_.uniform());
  Time& whole = floors_[{t.source, t.destination, Tag{}}];
  head = std::max(head, whole);
  if (!reorder_) {
    whole = head;
  } else {
    Time& floor = floors_[{t.source, t.destination, t.stream}];
    floor = head = std::max(head, floor);
  }
  return head;
}

Duration Network::latency(NodeId from, NodeId to) const {
  const HostId a = cluster_->nodes[from.value()].host;
  const HostId b = cluster_->nodes[to.value()].host;
  const HostModel& host = cluster_->hosts[a.value()];
  return a == b ? host.memory.latency : host.nic.latency;
}

void Network::cut(NodeId from, NodeId to) { cuts_.try_emplace({from, to}, Cut{queue_->now(), {}}); }

bool Network::hold(NodeId from, NodeId to, Transit& transit) {
  if (cuts_.empty()) return false;
  const auto cut = cuts_.find({from, to});
  if (cut == cuts_.end()) return false;
  cut->second.waiting.push_back(&transit);
  return true;
}

void Network::heal(NodeId from, NodeId to) {
  const auto it = cuts_.find({from, to});
  if (it == cuts_.end()) return;
  const std::vector<Transit*> waiting = std::move(it->second.waiting);
  cuts_.erase(it);
  for (Transit* transit : waiting) queue_->schedule(queue_->now(), *transit);
}

void Network::set_slow(HostId host, double factor) {
  out_[host.value()].slow = factor;
  in_[host.value()].slow = factor;
}

void Network::set_delays(Duration longest, bool reorder) {
  delay_max_ = longest;
  // Delays of single streams and of whole connections do not mix; the stricter one applies.
  if (reorder_ && !reorder) {
    std::map<std::tuple<NodeId, NodeId, Tag>, Time> merged;
    for (const auto& [key, time] : floors_) {
      Time& floor = merged[{std::get<0>(key), std::get<1>(key), Tag{}}];
      floor = std::max(floor, time);
    }
    floors_.swap(merged);
  }
  reorder_ = reorder && longest > Duration(0);
}

void Network::occupy(HostId host, Duration busy) {
  for (Lane* l : {&out_[host.value()], &in_[host.value()]})
    l->free = std::max(l->free, queue_->now()) + busy;
}

}  // namespace shoal
