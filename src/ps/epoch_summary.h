// The summary of an epoch that all workers get at its end: the state of the ledger, and the
// staleness of pushes.
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
