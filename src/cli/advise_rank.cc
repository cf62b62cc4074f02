#include "cli/advise_rank.h"

#include <fmt/core.h>

#include <algorithm>

#include "recipe/criteria.h"
#include "report/words.h"

namespace shoal {
namespace {

constexpr double kHardToRepeat = 0.5;
constexpr double kNeedsBalance = 0.6;
constexpr double kEasilyDisturbed = 0.7;  // per + of resilience below three
constexpr double kSetting = 0.85;         // per + of settings above one
constexpr double kStale = 0.9;            // per + of overlap above one: lower learning rates

}  // namespace

std::vector<Advice> rank(std::vector<Advice> candidates, const Wishes& wishes) {
  double best = 0, least = 0;
  for (const Advice& c : candidates) best = std::max(best, c.samples_per_s);
  for (const Advice& c : candidates)
    if (least == 0 || c.bytes_per_sample < least) least = c.bytes_per_sample;
  for (Advice& c : candidates) {
    const Criteria& k = criteria_of(find_system(c.system).recipe);
    c.worth = best > 0 ? c.samples_per_s / best : 0;
    c.reasons = {fmt::format("{} samples/s, {:.0f} % of the fastest; {:.0f} % of its time waiting",
                             plain_text(c.samples_per_s), 100 * c.worth, 100 * c.waiting)};
    if (c.bytes_per_sample > 0 && c.bytes_per_sample == least)
      c.reasons.push_back(fmt::format("sends least, {} per sample", bytes_text(least)));
    const auto weigh = [&](bool holds, double factor, std::string reason) {
      if (!holds) return;
      c.worth *= factor;
      c.reasons.push_back(std::move(reason));
    };
    weigh(wishes.reproducible && k.reproducible == "hard", kHardToRepeat, "hard to repeat");
    weigh(wishes.unbalanced && k.needs_balanced_data, kNeedsBalance,
          "needs the same distribution of data at all workers");
    for (unsigned i = k.resilience; wishes.unstable && i < 3; ++i) c.worth *= kEasilyDisturbed;
    weigh(wishes.unstable && k.resilience < 3, 1, "waits for disturbed workers");
    for (unsigned i = 1; wishes.simple && i < k.settings; ++i) c.worth *= kSetting;
    weigh(wishes.simple && k.settings > 1, 1, "has settings of its own to tune");
    for (unsigned i = 1; i < k.overlap; ++i) c.worth *= kStale;
    weigh(k.rate == "lower", 1,
          "learns from late gradients: lower learning rates as the cluster grows");
    weigh(k.kind == "central, synchronous", 1, "the mathematics of one machine");
  }
  std::ranges::stable_sort(candidates, std::greater(), &Advice::worth);
  return candidates;
}

}  // namespace shoal
