#include "cli/compare_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "app/config.h"
#include "base/error.h"
#include "recipe/registry.h"

namespace shoal {

std::vector<std::string> parse_systems(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) throw ConfigError(fmt::format("--like {}: a name is empty", text));
    const std::string name(find_system(word).name);
    if (std::ranges::find(names, name) != names.end())
      throw ConfigError(fmt::format("--like {}: {} is repeated", text, name));
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> words_of(const std::vector<Option>& options,
                                  const std::vector<std::string>& given) {
  std::vector<std::string> words;
  for (const ConfigEntry& entry : config_of(options, {})) {
    const std::string name = "--" + entry.key;
    if (std::ranges::find(given, name) == given.end()) continue;
    if (std::holds_alternative<bool>(entry.value)) {
      words.push_back(name);
      continue;
    }
    words.push_back(name);
    const std::string* const plain = std::get_if<std::string>(&entry.value);
    words.push_back(plain != nullptr ? *plain : to_text(entry.value));
  }
  return words;
}

Pilot steady(const Pilot& whole, std::span<const double> ends) {
  Pilot pilot = whole;
  const std::size_t first = ends.size() / 4;
  if (ends.size() < 8 || ends.back() <= ends[first]) return pilot;
  const double each = (ends.back() - ends[first]) / static_cast<double>(ends.size() - 1 - first);
  pilot.begin_s = std::max(0.0, whole.seconds - each * static_cast<double>(ends.size()));
  return pilot;
}

std::uint64_t longer_pilot(const Pilot& first, double budget_s, bool all_stepped) {
  constexpr double kLeast_s = 1;
  const double least = std::min(kLeast_s, budget_s / 10);
  if (!all_stepped) return 4 * first.steps;
  if (first.seconds >= least) return 0;
  return std::max(first.steps, steps_in(std::max(least, budget_s / 20), first));
}

Pilot between(const Pilot& shorter, const Pilot& longer) {
  Pilot pilot = longer;
  const double more = static_cast<double>(longer.steps - shorter.steps);
  const double step_s = more > 0 ? (longer.seconds - shorter.seconds) / more : 0;
  const double begin_s = longer.seconds - step_s * static_cast<double>(longer.steps);
  if (step_s > 0 && begin_s > 0) pilot.begin_s = begin_s;
  return pilot;
}

std::uint64_t steps_in(double seconds, const Pilot& pilot) {
  const double made_in = pilot.seconds - pilot.begin_s;
  if (pilot.steps == 0 || made_in <= 0) return 1;
  const double steps = (seconds - pilot.begin_s) * static_cast<double>(pilot.steps) / made_in;
  return static_cast<std::uint64_t>(std::clamp(steps, 1.0, 1e9));
}

std::vector<double> eta_points(double usual) {
  // Three digits, without an exponent.
  const auto plain = [](double x) {
    return std::strtod(fmt::format("{:.3g}", x).c_str(), nullptr);
  };
  return {plain(usual / 3), plain(usual), plain(usual * 3)};
}

}  // namespace shoal
