// The axes of recipes: every setting that some recipe has, for flags and docs, and those that one
// recipe has, for summaries. They follow from settings_of() of each kind of training.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipe/recipe.h"

namespace shoal {

struct Axis {
  std::string name;  // "exchange": its flag is --exchange
  std::string help;
  std::vector<std::string> choices;  // all or some of them; empty for a number or a switch
  std::string range;                 // of a number: "a whole number from 1 on"
  bool is_switch = false;
  bool decides = false;                // which other axes a recipe has
  std::vector<std::string> goes_with;  // "--algorithm gossip, pairs"
};

std::span<const Axis> axes();

// One flag of a recipe: an axis by name, and its value: "yes" or "no" of a switch.
struct AxisValue {
  std::string name;
  std::string value;
};
// Sets the axes, in any order. Throws ConfigError for a value that an axis does not take, and for
// axes that the recipe does not have; the message says which choices these axes go with.
void set_axes(Recipe& recipe, const std::vector<AxisValue>& values);

// The axes of the recipe with their values, after some derived ones.
std::vector<std::pair<std::string, std::string>> axes_of(const Recipe& recipe);
// The value of one axis; empty: the recipe does not have it.
std::string axis_of(const Recipe& recipe, std::string_view name);

// As on the command line: "--straggler-policy first", "--no-bagging".
std::string flag_of(const Setting& setting, std::string_view value);
// The flags that turn one recipe into another; empty when they are equal.
std::string flags_between(const Recipe& from, const Recipe& to);

}  // namespace shoal
