// Which choices of a recipe exclude each other: a table for each kind of training, with the reason
// and the nearest choice that works. Recipes are checked before training starts; docs/systems.md
// has the same tables.
//
// The reasons are mathematical or technical. Settings of another choice cannot be expressed
// (recipe.h), and the reader of a number refuses it if it is out of range.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/recipe.h"
#include "recipe/registry.h"

namespace shoal {

// An exclusion in one kind of training.
template <class Kind>
struct ExclusionOf {
  std::string_view what;     // "--update root with --exchange ring"
  std::string_view why;      // a reason, as a clause
  std::string_view instead;  // the choice that mend makes
  bool (*broken)(const Kind& recipe, std::uint64_t workers);
  void (*mend)(Kind& recipe, std::uint64_t workers);
};
// Later rows may assume that earlier ones hold. Mending a row may break only those rows above it
// that the next round mends towards fewer choices, so that the rounds end (the test tries all of
// them).
std::span<const ExclusionOf<InStep>> rules_in_step();
std::span<const ExclusionOf<Served>> rules_served();
std::span<const ExclusionOf<Decentral>> rules_decentral();

// An exclusion in any kind of training.
struct Exclusion {
  std::string_view what;
  std::string_view why;
  std::string_view instead;
  const void* rule;
  bool (*is_broken)(const void* rule, const Recipe& recipe, std::uint64_t workers);
  void (*do_mend)(const void* rule, Recipe& recipe, std::uint64_t workers);

  bool broken(const Recipe& recipe, std::uint64_t workers) const {
    return is_broken(rule, recipe, workers);
  }
  // REQUIRES: the recipe breaks the rule.
  void mend(Recipe& recipe, std::uint64_t workers) const { do_mend(rule, recipe, workers); }
};
std::span<const Exclusion> exclusions();

struct Violation {
  const Exclusion* rule = nullptr;
  std::string instead;  // flags that mend this one: "--exchange tree"
};

// The rules that a recipe breaks with this number of workers, in the order of the table.
std::vector<Violation> check(const Recipe& recipe, std::uint64_t workers);
// Mends the recipe until it breaks no rule; a recipe without violations is returned unchanged.
Recipe nearest(Recipe recipe, std::uint64_t workers);

// Throws ConfigError: too few workers for the system, or a violation, with reason and flags.
void require_compatible(const System& system, const Recipe& recipe, std::uint64_t workers);

}  // namespace shoal
