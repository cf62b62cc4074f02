#include "sync/stragglers.h"

#include <algorithm>

namespace shoal {
namespace {

// The worker of the micro-shard that finished first.
Rank first_done(const std::vector<Rank>& workers, std::span<const Rank> done) {
  for (const Rank r : done)
    if (std::ranges::find(workers, r) != workers.end()) return r;
  return kDropped;
}

}  // namespace

std::optional<Winners> decide_stragglers(const InStep& recipe, const Candidates& micro_shards,
                                         std::span<const Rank> done) {
  if (waits_by<PartialGradients>(recipe)) {
    if (done.empty()) return std::nullopt;
    Winners all;
    for (const std::vector<Rank>& workers : micro_shards) all.push_back(workers.front());
    return all;
  }
  Winners winners;
  for (const std::vector<Rank>& workers : micro_shards)
    winners.push_back(first_done(workers, done));
  const auto missing = static_cast<std::size_t>(std::ranges::count(winners, kDropped));
  const std::size_t may_miss =
      backups(recipe) == 0 || micro_shards.empty()
          ? 0
          : std::min<std::size_t>(backups(recipe), micro_shards.size() - 1);
  if (missing > may_miss) return std::nullopt;
  return winners;
}

}  // namespace shoal
