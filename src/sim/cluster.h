// A simulated cluster: hosts, links, costs of work, stragglers. Pure data; network.h has the model
// of links, sim_env.h that of work.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "runtime/env.h"
#include "runtime/view.h"

namespace shoal {

// One direction of an interface, a memory bus or an uplink: messages pass one after the other.
struct LinkModel {
  Duration latency{0};
  double bytes_per_s = 0;  // 0: infinite
  Bytes overhead{0};       // added to every message
  // Above this size, two nodes send one way at a time, as with some transports; 0: no such size.
  Bytes one_way_above{0};
  // CPU time per byte at each end, for copies and the kernel. It slows down work on the host, not
  // the message.
  double cpu_ns_per_byte = 0;

  // Cores that an end loses while it carries messages.
  double load() const { return 1e-9 * cpu_ns_per_byte * bytes_per_s; }
  Duration transmit(Bytes size) const {
    if (bytes_per_s <= 0) return Duration(0);
    return from_seconds(static_cast<double>((size + overhead).value()) / bytes_per_s);
  }
};

struct HostModel {
  unsigned cores = 1;
  double speed = 1;  // relative speed of work; 2 is twice as fast
  LinkModel nic;     // each direction; the sender's side charges the latency, once
  LinkModel memory;  // between nodes of this host
  std::optional<std::size_t> rack;
};

struct Placement {
  HostId host;
  Role role = Role::Worker;
};

// Work costs n x ns_per_element[kind], times the slowness of the node: one draw for a whole forward
// and backward pass, and one for each other piece of work.
struct Straggler {
  enum class Kind : std::uint8_t { None, Constant, Jitter, HeavyTail, Exponential };
  Kind kind = Kind::None;
  // Constant, Exponential: the mean factor; Jitter: relative deviation; HeavyTail: Pareto shape.
  double factor = 1;
};

// When a send completes: a network may buffer the message or wait for the receiver.
enum class Completion : std::uint8_t { AtOnce, WhenMatched, BySeed };

struct Cluster {
  std::vector<HostModel> hosts;
  std::vector<Placement> nodes;  // index = NodeId
  std::vector<LinkModel> racks;  // each rack's uplink, each direction
  std::array<double, kWorkKinds> ns_per_element{};
  std::vector<Straggler> stragglers;  // by node; may be shorter than nodes
  Completion completion = Completion::AtOnce;
  // A cancelled receive keeps its range busy for up to this long, and then overwrites it.
  Duration cancelled_busy_max{0};
  bool timing_only = false;  // charges the time of the mathematics without doing it
  bool buggify = false;

  static Cluster uniform(std::size_t count, LinkModel nic);  // one node on each host
};

std::string describe(const Cluster& cluster);

}  // namespace shoal
