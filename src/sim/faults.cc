#include "sim/faults.h"

#include <fmt/format.h>

#include <algorithm>

namespace shoal {

using namespace std::chrono_literals;

namespace {

constexpr auto kFaultNames = names<FaultKind>({{FaultKind::Kill, "kill"},
                                               {FaultKind::PowerLoss, "power loss"},
                                               {FaultKind::Freeze, "freeze"},
                                               {FaultKind::SlowDown, "slow-down"},
                                               {FaultKind::Partition, "partition"},
                                               {FaultKind::OneWayCut, "one-way cut"},
                                               {FaultKind::LinkSlow, "link slow"},
                                               {FaultKind::Delay, "delay"},
                                               {FaultKind::Reorder, "reorder"},
                                               {FaultKind::Traffic, "traffic"}});
static_assert(kFaultNames.size() == kFaultKinds);

}  // namespace

std::string_view to_string(FaultKind kind) { return kFaultNames.of(kind); }

std::string describe(const Fault& f) {
  std::string text = fmt::format("{:.4f} s {} node {}", seconds(f.at), to_string(f.kind), f.node);
  if (f.peer != kNobody) text += fmt::format(" to {}", f.peer);
  if (f.lasting > Duration(0)) text += fmt::format(" for {:.4f} s", seconds(f.lasting));
  if (f.factor != 1) text += fmt::format(" x {:.2f}", f.factor);
  return text;
}

FaultPlan draw_faults(Random& random, std::size_t nodes, Duration during) {
  std::vector<FaultKind> kinds;
  for (std::size_t k = 0; k < kFaultKinds; ++k)
    if (random.chance(0.5)) kinds.push_back(static_cast<FaultKind>(k));

  FaultPlan plan;
  plan.heal_at = Time(during);
  if (kinds.empty()) return plan;
  const std::uint64_t count = random.below(9);
  for (std::uint64_t i = 0; i < count; ++i) {
    Fault f;
    f.kind = kinds[random.below(kinds.size())];
    // A third of the faults fall into the first tenth: protocols are most fragile at the start.
    const double when = random.uniform() * (random.chance(0.33) ? 0.1 : 1.0);
    f.at = Time(from_seconds(when * seconds(during)));
    f.node = NodeId(static_cast<std::uint32_t>(random.below(nodes)));
    f.lasting = random.duration(1ms, 4s);
    switch (f.kind) {
      case FaultKind::Kill:
      case FaultKind::PowerLoss:
        if (random.chance(0.25)) f.lasting = Duration(0);  // stays away until healed
        break;
      case FaultKind::OneWayCut:
        if (nodes < 2) continue;
        f.peer = NodeId(
            static_cast<std::uint32_t>((f.node.value() + 1 + random.below(nodes - 1)) % nodes));
        break;
      case FaultKind::SlowDown:
      case FaultKind::LinkSlow:
      case FaultKind::Delay:
      case FaultKind::Reorder: f.factor = 1 + 20 * random.uniform() * random.uniform(); break;
      case FaultKind::Traffic: f.lasting = random.duration(1ms, 300ms); break;
      case FaultKind::Freeze:
      case FaultKind::Partition: break;
    }
    plan.faults.push_back(f);
  }
  std::ranges::stable_sort(plan.faults, {}, &Fault::at);
  return plan;
}

}  // namespace shoal
