// The simulated network. Every message passes the lanes on its path (the sender's interface, rack
// uplinks, the receiver's interface, or the memory of a host) one after the other, cut-through: its
// head enters the next lane when it arrives there, its tail follows at the slowest rate.
//
//   one message alone over equal interfaces:   latency + size / bandwidth
//
// Lanes are FIFO. Nothing is lost, as over TCP: a message at a cut link waits until the link heals
// or its connection is closed.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/types.h"
#include "runtime/header.h"
#include "sim/cluster.h"
#include "sim/event_queue.h"

namespace shoal {

// A message in flight.
class Transit : public Occurrence {
 public:
  NodeId source = kNobody;
  NodeId destination = kNobody;
  Bytes wire_size;
  Tag stream;  // messages of one stream keep their order

 protected:
  // Its tail has left the last lane; it is now an event of its destination.
  virtual void arrived() = 0;

 private:
  friend class Network;
  unsigned lane_ = 0;
  Time tail_{};
};

class Network {
 public:
  Network(const Cluster& cluster, Seed seed, EventQueue& queue);

  void send(Transit& transit);     // enters the first lane now
  void advance(Transit& transit);  // its head has reached the next lane: call from happen()
  // True once the transit has passed all lanes.
  static bool through(const Transit& transit) { return transit.lane_ == kThrough; }
  // Called for each period in which a host's link takes some of its cores.
  using Busy = std::function<void(HostId host, double cores, Time from, Time to)>;
  void on_busy(Busy busy) { busy_ = std::move(busy); }
  Duration latency(NodeId from, NodeId to) const;

  // Faults.
  struct Cut {
    Time since;
    std::vector<Transit*> waiting;
  };
  void cut(NodeId from, NodeId to);
  void heal(NodeId from, NodeId to);
  // True if the link is cut: the transit waits there, and continues when the link heals.
  bool hold(NodeId from, NodeId to, Transit& transit);
  const std::map<std::pair<NodeId, NodeId>, Cut>& cuts() const { return cuts_; }
  void set_slow(HostId host, double factor);
  void set_delays(Duration longest, bool reorder);  // zero: no delays any more
  void occupy(HostId host, Duration busy);          // competing traffic, both directions

 private:
  static constexpr unsigned kThrough = ~0U;
  struct Lane {
    LinkModel model;
    Time free{};
    double slow = 1;
    std::optional<HostId> host = {};  // whose cores it takes
  };
  struct Route {
    std::array<Lane*, 4> lanes;
    unsigned count;
  };
  Route route(const Transit& transit);
  Time delayed(const Transit& transit, Time head);
  Time& turn_of(const Transit& transit);

  const Cluster* cluster_;
  EventQueue* queue_;
  Random random_;
  Busy busy_;
  std::vector<Lane> out_, in_, memory_;  // by host
  std::vector<Lane> up_, down_;          // by rack
  std::map<std::pair<NodeId, NodeId>, Cut> cuts_;
  std::map<std::pair<NodeId, NodeId>, Time> turns_;  // of two nodes: the time of the next large
                                                     // message
  Duration delay_max_{0};
  bool reorder_ = false;
  // The earliest head of the next message of a stream, while messages are delayed.
  std::map<std::tuple<NodeId, NodeId, Tag>, Time> floors_;
};

}  // namespace shoal
