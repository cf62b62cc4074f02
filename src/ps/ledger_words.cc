#include "ps/ledger_words.h"

#include <bit>

#include "base/check.h"

namespace shoal {

std::uint64_t next_word(std::span<const std::uint64_t>& words) {
  SHOAL_CHECK(!words.empty(), "the scheduler's state is too short");
  const std::uint64_t word = words.front();
  words = words.subspan(1);
  return word;
}

Score next_score(std::span<const std::uint64_t>& words) {
  Score s;
  s.loss = std::bit_cast<double>(next_word(words));
  s.samples = next_word(words);
  s.predictions = next_word(words);
  s.correct = next_word(words);
  return s;
}

void put(std::vector<std::uint64_t>& words, std::initializer_list<std::uint64_t> more) {
  words.insert(words.end(), more);
}

void put(std::vector<std::uint64_t>& words, const std::vector<std::uint64_t>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

void put(std::vector<std::uint64_t>& words, const Score& s) {
  put(words, {std::bit_cast<std::uint64_t>(s.loss), s.samples, s.predictions, s.correct});
}

std::vector<std::uint64_t> to_words(const LedgerPlace& place) {
  std::vector<std::uint64_t> words{place.epoch};
  words.insert(words.end(), place.past.begin(), place.past.end());
  words.push_back(place.ended.size());
  for (const LedgerPlace::Ended& e : place.ended)
    put(words, {e.at, e.n, static_cast<std::uint64_t>(e.end)});
  return words;
}

LedgerPlace place_from(std::span<const std::uint64_t>& words) {
  LedgerPlace place;
  place.epoch = next_word(words);
  for (std::uint64_t& n : place.past) n = next_word(words);
  place.ended.resize(next_word(words));
  for (LedgerPlace::Ended& e : place.ended) {
    e.at = next_word(words);
    e.n = next_word(words);
    e.end = static_cast<SampleEnd>(next_word(words));
  }
  return place;
}

}  // namespace shoal
