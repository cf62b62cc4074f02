#include "checkpoint/snapshot_names.h"

#include <algorithm>
#include <functional>

#include "base/parse.h"

namespace shoal {
namespace {

constexpr std::string_view kStepPrefix = "step-";

}  // namespace

std::string step_name(Step step) { return fmt::format("{}{}", kStepPrefix, step); }

std::optional<Step> step_at_end(std::string_view name) {
  const std::size_t at = name.rfind(kStepPrefix);
  if (at == std::string_view::npos) return {};
  const auto number = parse_number<std::uint64_t>(name.substr(at + kStepPrefix.size()));
  return number ? std::optional(Step(*number)) : std::nullopt;
}

std::vector<Step> published_steps(const std::vector<std::string>& names) {
  std::vector<Step> steps;
  for (const std::string& name : names) {
    const std::optional<Step> step = step_at_end(name);
    // Comparing with the expected name excludes step-07 and the like.
    if (step && name == step_name(*step)) steps.push_back(*step);
  }
  std::ranges::sort(steps, std::greater());
  return steps;
}

}  // namespace shoal
