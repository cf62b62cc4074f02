// How the members of a new view synchronize before they go on: they compare their steps and copy
// the newest state.
//
// The rule of the step commit (docs/decisions/0007): a step does not change the state before all
// members have told that they can finish it, and a member that has heard all of them does finish
// it, whatever happens. So members of the old view differ by at most one step. If any member has
// finished step t, the others copy the state from it; otherwise step t is repeated, with its shares
// dealt again. A newcomer also copies the state. If no member has a state, the first member loads
// the newest checkpoint; if there is none, all start from the beginning.
// is, all start from the beginning.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"

namespace shoal {

// A member's report about its state.
struct Standing {
  std::uint64_t step = 0;
  std::uint32_t lineage = 0;
  std::uint32_t valid = 0;      // 0: a newcomer, without a state
  std::uint64_t evaluated = 0;  // the step before which it last completed an evaluation
};

struct RecoveryPlan {
  Rank source;  // the member that sends its state
  bool from_checkpoint = false;
  std::string reason;
};

// Pure: gives the same plan on every member.
RecoveryPlan plan_recovery(std::span<const Standing> standings);
// The last evaluation that all members with a state completed; later ones are repeated.
Step evaluated_by_all(std::span<const Standing> standings);
// The members, by rank, that must copy the state from the source.
std::vector<bool> in_need(std::span<const Standing> standings, const RecoveryPlan& plan);
// Whether members with a state go on while the others copy it; not if most members have none.
bool goes_on(const std::vector<bool>& in_need);

}  // namespace shoal
