#include "sync/link_watch.h"

#include <algorithm>

namespace shoal {
namespace {

// After kSettled steps the usual duration is known: the shortest, without the first kFirstSteps.
// Links have changed if this many consecutive steps take this many times as long, or as short.
constexpr std::uint64_t kFirstSteps = 3;
constexpr std::uint64_t kSettled = 20;
constexpr std::uint64_t kOddSteps = 8;
constexpr double kSlower = 1.5;

}  // namespace

void LinkWatch::took(Duration longest, Step step) {
  const double took = seconds(longest);
  const std::uint64_t since = (step - chosen_in_).value();
  if (since < kSettled) {
    usual_s_ = since < kFirstSteps ? took : std::min(usual_s_, took);
    odd_steps_ = 0;
    return;
  }
  const bool odd = took > kSlower * usual_s_ || kSlower * took < usual_s_;
  odd_steps_ = odd ? odd_steps_ + 1 : 0;
}

bool LinkWatch::changed() const { return odd_steps_ >= kOddSteps; }

}  // namespace shoal
