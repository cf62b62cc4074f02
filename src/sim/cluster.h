// A simulated cluster, in words: hosts, links, costs of work, stragglers. Pure data; the models
// that read it are in network.h (links) and sim_env.h (work).
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
  // Larger messages of two nodes go one way at a time, as some transports have it; 0: none do.
  Bytes one_way_above{0};
  // Of a core, at each end, for every byte: copies and the kernel's work. It slows down what runs
  // there; the message takes the time it takes.
  double cpu_ns_per_byte = 0;

  // Cores that an end gives up while it carries messages.
  double load() const { return 1e-9 * cpu_ns_per_byte * bytes_per_s; }
  Duration transmit(Bytes size) const {
    if (bytes_per_s <= 0) return Duration(0);
    return from_seconds(static_cast<double>((size + overhead).value()) / bytes_per_s);
  }
};

struct HostModel {
  unsigned cores = 1;
  double speed = 1;  // of work; 2 is twice as fast
  LinkModel nic;     // each direction; latency is charged once, on the way out
  LinkModel memory;  // between nodes of this host
  std::optional<std::size_t> rack;
};

struct Placement {
  HostId host;
  Role role = Role::Worker;
};

// The cost of work is n x ns_per_element[kind], times what makes the node slow: one draw for all of
// a pass, forward and backward, and one for each other piece of work.
struct Straggler {
  enum class Kind : std::uint8_t { None, Constant, Jitter, HeavyTail, Exponential };
  Kind kind = Kind::None;
  // Constant, Exponential: multiplies, in the mean; Jitter: relative deviation; HeavyTail: Pareto
  // shape.
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
  // Cancelled receives keep their range busy for up to this long, and then overwrite it.
  Duration cancelled_busy_max{0};
  bool timing_only = false;  // skip the mathematics, charge its time
  bool buggify = false;

  static Cluster uniform(std::size_t count, LinkModel nic);  // one node on each host
};

std::string describe(const Cluster& cluster);

}  // namespace shoal
