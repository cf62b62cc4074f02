#include "runtime/live/core_pace.h"

#include <algorithm>
#include <chrono>

namespace shoal {
namespace {

// Shorter pieces are not worth a move, which loses the contents of the core's caches.
constexpr Duration kShortest = std::chrono::milliseconds(1);
constexpr std::size_t kLooks = 4;  // first pieces, each on a core of its own
constexpr double kSlow = 1.25;     // times the duration on a fast core
constexpr int kSlowPieces = 2;
constexpr int kMovesAtOnce = 8;
constexpr int kDoublingsMost = 6;  // of the pause between moves
// Load on the other thread of a core comes and goes within seconds.
constexpr Duration kLately = std::chrono::seconds(1);

}  // namespace

// One in eight pieces was faster. The minimum would be too strict: single pieces can be short.
double CorePace::fast_s() const {
  const std::size_t n = std::min(seen_, lately_s_.size());
  std::array<double, 64> sorted = lately_s_;
  const auto fast = sorted.begin() + static_cast<std::ptrdiff_t>(n / 8);
  std::nth_element(sorted.begin(), fast, sorted.begin() + static_cast<std::ptrdiff_t>(n));
  return *fast;
}

bool CorePace::leave(int core, Time now, Duration took) {
  if (took < kShortest) return false;
  const bool slow = seen_ > 0 && seconds(took) > kSlow * fast_s();
  lately_s_[seen_++ % lately_s_.size()] = seconds(took);
  if (slow) slow_[core] = now;
  if (seen_ <= kLooks) return true;
  if (!slow) {
    slow_pieces_ = moves_ = rest_ = 0;
    return false;
  }
  if (++slow_pieces_ < kSlowPieces || --rest_ > 0 || random_.chance(0.5)) return false;
  slow_pieces_ = 0;
  ++moves_;
  const int more = moves_ - kMovesAtOnce;
  rest_ = more < 0 ? 0 : 1 << std::min(more, kDoublingsMost);
  return true;
}

bool CorePace::slow_lately(int core, Time now) const {
  const auto it = slow_.find(core);
  return it != slow_.end() && now - it->second < kLately;
}

}  // namespace shoal
