#include "ps/epoch_summary.h"

#include "base/check.h"
#include "ps/sample_scheduler.h"

namespace shoal {

std::vector<std::uint64_t> to_words(const EpochSummary& summary) {
  std::vector<std::uint64_t> words = to_words(summary.place);
  const std::vector<std::uint64_t> more = to_words(summary.staleness);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

EpochSummary summary_from(std::span<const std::uint64_t> words) {
  EpochSummary summary;
  summary.place = place_from(words);
  summary.staleness = staleness_from(words);
  SHOAL_CHECK(words.empty(), "the summary of an epoch is {} words too long", words.size());
  return summary;
}

}  // namespace shoal
