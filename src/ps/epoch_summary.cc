#include "ps/epoch_summary.h"

#include "base/check.h"
#include "ps/sample_scheduler.h"

namespace shoal {

std::vector<std::uint64_t> to_words(const EpochSummary& news) {
  std::vector<std::uint64_t> words = to_words(news.place);
  const std::vector<std::uint64_t> more = to_words(news.staleness);
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

EpochSummary news_from(std::span<const std::uint64_t> words) {
  EpochSummary news;
  news.place = place_from(words);
  news.staleness = staleness_from(words);
  SHOAL_CHECK(words.empty(), "the news of an epoch are {} words too long", words.size());
  return news;
}

}  // namespace shoal
