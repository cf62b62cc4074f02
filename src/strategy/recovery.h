// What the members of a new view do before they go on: find out where each stands, and level up.
//
// The rule of the step commit. Parameters change only after all buckets of step t are reduced, and
// reduced(t) is kept until the first collective of t+1 completes. A collective completes at one
// member only when all have begun it, so members of the old view differ by at most one step. If
// anyone has applied t, the others copy reduced(t) from there and apply it too; else t is reduced
// anew, with the shares dealt again. A newcomer copies the whole state, the last reduced gradient
// included, so that it can give it on. If nobody has a state, the
// first member loads the newest one kept, or starts from the beginning.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/types.h"

namespace shoal {

// What a member says of itself.
struct Standing {
  std::uint64_t step = 0;
  std::uint32_t lineage = 0;
  std::uint32_t valid = 0;      // 0: it is a newcomer
  std::uint64_t evaluated = 0;  // the step before which it last saw an evaluation through
};

enum class Need : std::uint8_t { Nothing, Reduced, Everything };

struct RecoveryPlan {
  Rank source;  // who gives
  bool from_keeper = false;
  std::string reason;
};

// Pure: the same on every member.
RecoveryPlan plan_recovery(std::span<const Standing> standings);
// The last evaluation that all members with a state saw through: later ones are made again.
Step evaluated_by_all(std::span<const Standing> standings);
// What the member of that rank must get from the source.
Need need_of(std::span<const Standing> standings, const RecoveryPlan& plan, Rank rank);

}  // namespace shoal
