// States as words, for messages and checkpoints: a ledger's position, scores, and the reader that
// decodes them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "data/ledger.h"
#include "learner/learner.h"

namespace shoal {

// Each takes from the front of `words`, which it shortens. REQUIRES: enough words.
std::uint64_t next_word(std::span<const std::uint64_t>& words);
Score next_score(std::span<const std::uint64_t>& words);

void put(std::vector<std::uint64_t>& words, std::initializer_list<std::uint64_t> more);
void put(std::vector<std::uint64_t>& words, const std::vector<std::uint64_t>& more);
void put(std::vector<std::uint64_t>& words, const Score& score);

std::vector<std::uint64_t> to_words(const LedgerPlace& place);
LedgerPlace place_from(std::span<const std::uint64_t>& words);

}  // namespace shoal
