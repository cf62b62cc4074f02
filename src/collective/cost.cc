#include "collective/cost.h"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "base/check.h"

namespace shoal {
namespace {

std::string duration(double s) {
  if (s < 1e-3) return fmt::format("{:.3g} us", s * 1e6);
  return s < 1 ? fmt::format("{:.3g} ms", s * 1e3) : fmt::format("{:.3g} s", s);
}

}  // namespace

GroupShape shape_of(const Group& group) { return {group.size(), group.hosts()}; }

double predict(Exchange exchange, const CostModel& costs, GroupShape shape, Bytes size) {
  if (shape.members == 1) return 0;
  const auto seconds = algorithm_of(exchange).seconds;
  SHOAL_CHECK(seconds != nullptr, "auto has no cost of its own");
  return seconds(CostTerms(costs, shape, size));
}

Choice choose(const CostModel& costs, GroupShape shape, Bytes size) {
  Choice best;
  Choice second;
  best.seconds = second.seconds = std::numeric_limits<double>::infinity();
  const auto weight = [](Exchange e) { return algorithm_of(e).weight; };
  for (const Exchange exchange : kAllReduces) {
    const auto is_useful = algorithm_of(exchange).is_useful;
    if (is_useful != nullptr && !is_useful(shape)) continue;
    const double seconds = predict(exchange, costs, shape, size);
    if (seconds * weight(exchange) < best.seconds * weight(best.exchange)) {
      second = std::exchange(best, Choice{exchange, seconds, {}});
    } else if (seconds < second.seconds) {
      second = {exchange, seconds, {}};
    }
  }
  best.why = fmt::format(
      "{} for {} bytes among {} members on {} host{}: {} predicted, {} for {}, which is next; "
      "messages take {} + {:.3g} ns/KiB inside a host, {} + {:.3g} ns/KiB between hosts",
      to_string(best.exchange), size, shape.members, shape.hosts, shape.hosts == 1 ? "" : "s",
      duration(best.seconds), duration(second.seconds), to_string(second.exchange),
      duration(costs.inside.alpha), costs.inside.beta * 1024e9, duration(costs.between.alpha),
      costs.between.beta * 1024e9);
  return best;
}

}  // namespace shoal
