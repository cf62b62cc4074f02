#include "strategy/turnout.h"

#include <algorithm>

namespace shoal {
namespace {

// The first of the lot's workers to be done.
Rank first_done(const std::vector<Rank>& workers, std::span<const Rank> done) {
  for (const Rank r : done)
    if (std::ranges::find(workers, r) != workers.end()) return r;
  return kDropped;
}

}  // namespace

std::optional<Winners> decide_turnout(const Recipe& recipe, const Candidates& lots,
                                      std::span<const Rank> done) {
  if (recipe.turnout == Turnout::Fastest) {
    if (done.empty()) return std::nullopt;
    Winners all;
    for (const std::vector<Rank>& workers : lots) all.push_back(workers.front());
    return all;
  }
  Winners winners;
  for (const std::vector<Rank>& workers : lots) winners.push_back(first_done(workers, done));
  const auto missing = static_cast<std::size_t>(std::ranges::count(winners, kDropped));
  const std::size_t may_miss =
      recipe.turnout == Turnout::First
          ? std::min<std::size_t>(recipe.backups, lots.empty() ? 0 : lots.size() - 1)
          : 0;
  if (missing > may_miss) return std::nullopt;
  return winners;
}

}  // namespace shoal
