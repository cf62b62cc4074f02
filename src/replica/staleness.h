// Staleness: how late the pushes to servers were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal {

// As measured: how many updates were made between the read that a push is based on and its own.
struct Staleness {
  static constexpr std::size_t kBins = 64;  // the last: that many or more
  std::vector<std::uint64_t> bins = std::vector<std::uint64_t>(kBins, 0);
  std::uint64_t pushes = 0, sum = 0, most = 0;

  bool operator==(const Staleness&) const = default;
  void add(std::uint64_t staleness);
  double mean() const;  // 0 of none
};
std::vector<std::uint64_t> to_words(const Staleness& staleness);
// From the front of `words`, which it shortens.
Staleness staleness_from(std::span<const std::uint64_t>& words);

}  // namespace shoal
