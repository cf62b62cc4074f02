#include "replica/recovery.h"

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
    // A later lineage began only because no member of the earlier one was left.
    const bool better = best == nullptr || s.lineage > best->lineage ||
                        (s.lineage == best->lineage && s.step > best->step);
    if (!better) continue;
    best = &s;
    plan.source = Rank(r);
  }
  if (best == nullptr) {
    plan.from_checkpoint = true;
    plan.reason = "no member has a state: rank 0 loads the newest checkpoint";
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

std::vector<bool> in_need(std::span<const Standing> standings, const RecoveryPlan& plan) {
  const Standing& best = standings[plan.source.value()];
  std::vector<bool> need;
  for (std::uint32_t r = 0; r < standings.size(); ++r) {
    const Standing& own = standings[r];
    const bool same = own.valid != 0 && own.lineage == best.lineage && !plan.from_checkpoint;
    if (same)
      SHOAL_CHECK_LE(best.step, own.step + 1, "members of one view are more than a step apart");
    need.push_back(Rank(r) != plan.source && !(same && own.step == best.step));
  }
  return need;
}

bool goes_on(const std::vector<bool>& in_need) {
  const auto lacking = static_cast<std::size_t>(std::ranges::count(in_need, true));
  return 2 * lacking <= in_need.size();
}

}  // namespace shoal
