// What the members of a new view do before they go on: find out where each stands, and level up.
//
// The rule of the step commit (docs/decisions/0007). A step changes nothing of the state before all
// members have told that they can finish it; whoever has heard all does finish it, whatever
// happens. So members of the old view differ by at most one step. If anyone has finished t, the
// others copy the state from there; else t is made anew, with the shares dealt again. A newcomer
// copies the state too. If nobody has one, the first member loads the newest one kept; where none
// is, all start from the beginning.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"

namespace shoal {

// What a member says of itself.
struct Standing {
  std::uint64_t step = 0;
  std::uint32_t lineage = 0;
  std::uint32_t valid = 0;      // 0: it is a newcomer
  std::uint64_t evaluated = 0;  // the step before which it last saw an evaluation through
};

struct RecoveryPlan {
  Rank source;  // who gives
  bool from_checkpoint = false;
  std::string reason;
};

// Pure: the same on every member.
RecoveryPlan plan_recovery(std::span<const Standing> standings);
// The last evaluation that all members with a state saw through: later ones are made again.
Step evaluated_by_all(std::span<const Standing> standings);
// Which members, by rank, must get the state from the source.
std::vector<bool> in_need(std::span<const Standing> standings, const RecoveryPlan& plan);
// Those who have a state go on while the others get theirs; but not when most have none.
bool goes_on(const std::vector<bool>& in_need);

}  // namespace shoal
