// The user's own update rule: include/shoal/update.h.
#include <algorithm>
#include <array>

#include "optim/loops.h"

namespace shoal {

// The rule gets the mean gradient, one block at a time.
void apply_own(const Rule& rule, const Terms& terms, const Piece& piece) {
  constexpr std::size_t kMeans = 1024;
  std::array<float, kMeans> mean;
  const auto scale = static_cast<float>(terms.scale);
  for (std::size_t at = 0; at < piece.n; at += kMeans) {
    const std::size_t n = std::min(kMeans, piece.n - at);
    const float* const g = piece.g + at;
    const float* const more = piece.more == nullptr ? nullptr : piece.more + at;
    for (std::size_t i = 0; i < n; ++i) mean[i] = (more == nullptr ? g[i] : g[i] + more[i]) * scale;
    Update update{{piece.w + at, n}, {mean.data(), n}, {}, terms.eta, terms.t};
    for (unsigned s = 0; s < slots(rule); ++s) update.slots[s] = {piece.slot[s] + at, n};
    rule.own->apply(update);
  }
}

}  // namespace shoal
