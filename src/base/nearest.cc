#include "base/nearest.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace shoal {

// Optimal string alignment: row i holds the distances between the first i letters of a and every
// prefix of b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row.back();
}

std::string suggest(std::string_view word, std::span<const std::string> known) {
  if (known.empty()) return "There are no choices.";
  const auto distance = [&](const std::string& k) { return edit_distance(word, k); };
  const auto& nearest = *std::ranges::min_element(known, {}, distance);
  // If more than half of the letters are wrong, a guess would mislead.
  if (2 * distance(nearest) <= std::max(word.size(), nearest.size())) {
    return fmt::format("Did you mean '{}'?", nearest);
  }
  return fmt::format("Known: {}.", fmt::join(known, ", "));
}

}  // namespace shoal
