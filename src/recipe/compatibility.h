// Which choices of a recipe exclude each other: one table, with the reason and the nearest choice
// that works. Recipes are checked before anything starts; docs/systems.md has the same table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/recipe.h"
#include "recipe/registry.h"

namespace shoal {

// Asks for what only the sharded update can do.
inline bool needs_owners(const Recipe& r) {
  return r.shards > 0 || r.stragglers != StragglerPolicy::All;
}

struct Exclusion {
  std::string_view what;     // "--update root with --exchange ring"
  std::string_view why;      // a reason, as a clause
  std::string_view instead;  // the choice that mend makes
  bool (*broken)(const Recipe& recipe, std::uint64_t workers);
  void (*mend)(Recipe& recipe, std::uint64_t workers);
};
std::span<const Exclusion> exclusions();

struct Violation {
  const Exclusion* rule = nullptr;
  std::string instead;  // flags that mend this one: "--exchange tree"
};

// What of the table a recipe breaks with so many workers, in the order of the table.
std::vector<Violation> check(const Recipe& recipe, std::uint64_t workers);
// The recipe mended until nothing is broken; one that passes stays as it is.
Recipe nearest(Recipe recipe, std::uint64_t workers);

// Throws ConfigError: too few workers for the system, or a violation, with reason and flags.
void require_compatible(const System& system, const Recipe& recipe, std::uint64_t workers);

}  // namespace shoal
