#include "strategy/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace shoal {

RecoveryPlan plan_recovery(std::span<const Standing> standings) {
  RecoveryPlan plan;
  const Standing* best = nullptr;
  for (std::uint32_t r = 0; r < standings.size(); ++r) {
    const Standing& s = standings[r];
    if (s.valid == 0) continue;
    // A later lineage began because nobody of the earlier ones was left.
    const bool better = best == nullptr || s.lineage > best->lineage ||
                        (s.lineage == best->lineage && s.step > best->step);
    if (!better) continue;
    best = &s;
    plan.source = Rank(r);
  }
  if (best == nullptr) {
    plan.from_keeper = true;
    plan.reason = "nobody has a state: rank 0 loads the newest one kept";
  } else {
    plan.reason = fmt::format("rank {} is furthest, at step {}", plan.source, best->step);
  }
  return plan;
}

Step evaluated_by_all(std::span<const Standing> standings) {
  std::optional<std::uint64_t> least;
  for (const Standing& s : standings)
    if (s.valid != 0) least = std::min(least.value_or(s.evaluated), s.evaluated);
  return Step(least.value_or(0));
}

Need need_of(std::span<const Standing> standings, const RecoveryPlan& plan, Rank rank) {
  if (rank == plan.source) return Need::Nothing;
  const Standing& own = standings[rank.value()];
  const Standing& best = standings[plan.source.value()];
  if (plan.from_keeper || own.valid == 0 || own.lineage != best.lineage) return Need::Everything;
  if (own.step == best.step) return Need::Nothing;
  SHOAL_CHECK_EQ(own.step + 1, best.step, "members of one view are more than a step apart");
  return Need::Reduced;
}

}  // namespace shoal
