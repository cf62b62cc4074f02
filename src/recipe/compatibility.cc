#include "recipe/compatibility.h"

#include <fmt/core.h>

#include "base/check.h"
#include "base/error.h"
#include "recipe/axes.h"

namespace shoal {
namespace {

std::string without_quotes(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (c != '`') plain += c;
  return plain;
}

template <class Kind>
bool breaks(const void* rule, const Recipe& recipe, std::uint64_t workers) {
  const auto* const kind = std::get_if<Kind>(&recipe);
  return kind != nullptr && static_cast<const ExclusionOf<Kind>*>(rule)->broken(*kind, workers);
}

template <class Kind>
void mends(const void* rule, Recipe& recipe, std::uint64_t workers) {
  static_cast<const ExclusionOf<Kind>*>(rule)->mend(std::get<Kind>(recipe), workers);
}

template <class Kind>
void add(std::vector<Exclusion>& all, std::span<const ExclusionOf<Kind>> rules) {
  for (const ExclusionOf<Kind>& rule : rules)
    all.push_back({rule.what, rule.why, rule.instead, &rule, breaks<Kind>, mends<Kind>});
}

std::vector<Exclusion> all_exclusions() {
  std::vector<Exclusion> all;
  add(all, rules_in_step());
  add(all, rules_served());
  add(all, rules_decentral());
  return all;
}

}  // namespace

std::span<const Exclusion> exclusions() {
  static const std::vector<Exclusion> kAll = all_exclusions();
  return kAll;
}

std::vector<Violation> check(const Recipe& recipe, std::uint64_t workers) {
  std::vector<Violation> violations;
  for (const Exclusion& rule : exclusions()) {
    if (!rule.broken(recipe, workers)) continue;
    Recipe mended = recipe;
    rule.mend(mended, workers);
    violations.push_back({&rule, flags_between(recipe, mended)});
  }
  return violations;
}

Recipe nearest(Recipe recipe, std::uint64_t workers) {
  for (std::size_t round = 0; round <= exclusions().size(); ++round) {
    bool broken = false;
    for (const Exclusion& rule : exclusions()) {
      if (!rule.broken(recipe, workers)) continue;
      rule.mend(recipe, workers);
      broken = true;
    }
    if (!broken) return recipe;
  }
  SHOAL_CHECK(false, "mending by the table of exclusions does not end");
  return recipe;
}

void require_compatible(const System& system, const Recipe& recipe, std::uint64_t workers) {
  if (workers < system.workers_min)
    throw ConfigError(
        fmt::format("--like {} needs {} workers at least; here are {}. Take "
                    "--workers {}, or another system (`shoal systems`)",
                    system.name, system.workers_min, workers, system.workers_min));
  const std::vector<Violation> violations = check(recipe, workers);
  if (violations.empty()) {
    if (const auto* const decentral = std::get_if<Decentral>(&recipe))
      require_valid(decentral->algorithm, workers);
    return;
  }
  const Violation& first = violations.front();
  Recipe mended = recipe;
  first.rule->mend(mended, workers);
  std::string text =
      fmt::format("{} (here {}): {}; take {}", without_quotes(first.rule->what),
                  flags_between(mended, recipe), without_quotes(first.rule->why), first.instead);
  const std::string all = flags_between(recipe, nearest(recipe, workers));
  if (all != first.instead) text += fmt::format("\nHint: nearest that works: {}", all);
  throw ConfigError(text);
}

}  // namespace shoal
