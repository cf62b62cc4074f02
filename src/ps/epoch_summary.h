// What all workers learn of an epoch's end: where the ledger stands, and how stale pushes were.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/ledger.h"
#include "ps/consistency.h"
#include "replica/staleness.h"

namespace shoal {

struct EpochSummary {
  LedgerPlace place;
  Staleness staleness;

  bool operator==(const EpochSummary&) const = default;
};

std::vector<std::uint64_t> to_words(const EpochSummary& summary);
EpochSummary summary_from(std::span<const std::uint64_t> words);

}  // namespace shoal
