#include "replica/staleness.h"

#include <algorithm>

#include "base/check.h"

namespace shoal {

void Staleness::add(std::uint64_t staleness) {
  ++bins[std::min<std::uint64_t>(staleness, kBins - 1)];
  ++pushes;
  sum += staleness;
  most = std::max(most, staleness);
}

double Staleness::mean() const {
  return pushes == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(pushes);
}

std::vector<std::uint64_t> to_words(const Staleness& s) {
  std::vector<std::uint64_t> words = s.bins;
  words.insert(words.end(), {s.pushes, s.sum, s.most});
  return words;
}

Staleness staleness_from(std::span<const std::uint64_t>& words) {
  SHOAL_CHECK_LE(Staleness::kBins + 3, words.size(), "a histogram is too short");
  Staleness s;
  std::ranges::copy(words.first(Staleness::kBins), s.bins.begin());
  words = words.subspan(Staleness::kBins);
  s.pushes = words[0];
  s.sum = words[1];
  s.most = words[2];
  words = words.subspan(3);
  return s;
}

}  // namespace shoal
