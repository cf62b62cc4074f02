// Fault plans: which faults happen in a simulated run, when, and to which nodes. Drawn from a seed
// or written by a test; carried out by the World.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "base/random.h"
#include "base/types.h"

namespace shoal {

enum class FaultKind : std::uint8_t {
  Kill,       // the process dies, its files stay; it restarts after `lasting` if > 0
  PowerLoss,  // like Kill, and unsynced file data is lost
  Freeze,     // the node stands still for `lasting`
  SlowDown,   // its host's work takes `factor` times as long, for `lasting`
  Partition,  // `node` is cut off from all others, both ways, for `lasting`
  OneWayCut,  // messages from `node` to `peer` do not arrive, for `lasting`
  LinkSlow,   // its host's interface is `factor` times slower, for `lasting`
  Delay,      // messages are late by up to `factor` ms, for `lasting`, in order
  Reorder,    // like Delay, and messages of different tags overtake each other
  Traffic,    // other traffic uses the host's interface for `lasting`
};
inline constexpr std::size_t kFaultKinds = count_up_to(FaultKind::Traffic);
std::string_view to_string(FaultKind kind);

struct Fault {
  Time at{};
  FaultKind kind{};
  NodeId node = kNobody;
  NodeId peer = kNobody;
  Duration lasting{0};
  double factor = 1;
};

struct FaultPlan {
  std::vector<Fault> faults{};
  // From this time on everything is healed, thawed and restarted, and no fault happens. Zero:
  // never; dead nodes stay dead.
  Time heal_at{};
};

std::string describe(const Fault& fault);

// Swarm testing: the seed switches off whole kinds of faults, so that the others coincide more
// often.
FaultPlan draw_faults(Random& random, std::size_t nodes, Duration during);

using FaultCounts = std::array<std::uint64_t, kFaultKinds>;

}  // namespace shoal
