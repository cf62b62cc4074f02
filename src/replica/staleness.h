// Staleness: how late pushes to servers are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal {

// Measured as the number of updates between the read that a push is based on and its own update.
struct Staleness {
  static constexpr std::size_t kBins = 64;  // the last bin counts all larger ones too
  std::vector<std::uint64_t> bins = std::vector<std::uint64_t>(kBins, 0);
  std::uint64_t pushes = 0, sum = 0, most = 0;

  bool operator==(const Staleness&) const = default;
  void add(std::uint64_t staleness);
  double mean() const;  // 0 without pushes
};
std::vector<std::uint64_t> to_words(const Staleness& staleness);
// Reads from the front of `words`, and removes what it read.
Staleness staleness_from(std::span<const std::uint64_t>& words);

}  // namespace shoal
