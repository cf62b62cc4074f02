// The axes of a recipe by name: what flags set, what summaries record, what `shoal systems` prints.
// A new field of Recipe gets a row in axes.cc, and with it a flag, a place in summary.json and one
// in the docs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipe/recipe.h"

namespace shoal {

struct Axis {
  std::string_view name;  // "exchange": its flag is --exchange
  std::string_view help;
  std::vector<std::string> choices;  // none: it is a number, or has a form of its own
  std::string (*get)(const Recipe& recipe);
  // Throws ConfigError: no number, or no choice (then with the nearest one).
  void (*set)(Recipe& recipe, std::string_view value);

  bool is_switch() const { return choices.size() == 2 && choices[0] == "yes"; }
};

inline constexpr std::size_t kAxes = 51;
std::span<const Axis> axes();

// All of them with their values; first those that are the same in every recipe so far.
std::vector<std::pair<std::string, std::string>> axes_of(const Recipe& recipe);

// As on the command line: "--straggler-policy first", "--no-bagging".
std::string flag_of(const Axis& axis, std::string_view value);
// What turns one recipe into another; empty when they are equal.
std::string flags_between(const Recipe& from, const Recipe& to);

}  // namespace shoal
