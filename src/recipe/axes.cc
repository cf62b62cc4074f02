#include "recipe/axes.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"

namespace shoal {
namespace {

std::string flag_of(std::string_view name, bool is_switch, std::string_view value) {
  if (!is_switch) return fmt::format("--{} {}", name, value);
  return fmt::format("--{}{}", value == "yes" ? "" : "no-", name);
}

std::string words_of(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? std::string(last) : ", ") + words[i];
  return text;
}

// Adds "--algorithm tree" to "--algorithm gossip, pairs".
void note_home(std::vector<std::string>& homes, const std::string& flag) {
  const std::size_t space = flag.find(' ');
  for (std::string& home : homes) {
    if (!home.starts_with(flag.substr(0, space + 1))) continue;
    const std::string choice = flag.substr(space);
    if ((home + ",").find(choice + ",") == std::string::npos) home += "," + choice;
    return;
  }
  homes.push_back(flag);
}

void note(std::vector<Axis>& all, const Setting& setting, const std::string& with) {
  auto known = std::ranges::find(all, setting.name, &Axis::name);
  if (known == all.end()) {
    all.push_back({std::string(setting.name),
                   std::string(setting.help),
                   setting.choices,
                   setting.range,
                   setting.is_switch,
                   setting.decides,
                   {}});
    known = all.end() - 1;
  }
  for (const std::string& choice : setting.choices)
    if (std::ranges::find(known->choices, choice) == known->choices.end())
      known->choices.push_back(choice);
  if (!with.empty()) note_home(known->goes_with, with);
}

// The settings that come and go with the choices of one setting.
void note_dependent(std::vector<Axis>& all, const Recipe& recipe, const Setting& decider,
                    const std::string& kind) {
  std::vector<std::vector<std::string>> by_choice;
  for (const std::string& choice : decider.choices) {
    Recipe other = recipe;
    set_axes(other, {AxisValue{std::string(decider.name), choice}});
    std::vector<std::string>& names = by_choice.emplace_back();
    for (const Setting& setting : settings_of(other)) names.emplace_back(setting.name);
  }
  for (std::size_t i = 0; i < by_choice.size(); ++i) {
    Recipe other = recipe;
    set_axes(other, {AxisValue{std::string(decider.name), decider.choices[i]}});
    for (const Setting& setting : settings_of(other)) {
      const bool always = std::ranges::all_of(by_choice, [&](const auto& names) {
        return std::ranges::find(names, setting.name) != names.end();
      });
      note(all, setting,
           setting.name == "update" ? ""
           : always                 ? kind
                                    : flag_of(decider.name, false, decider.choices[i]));
    }
  }
}

std::vector<Axis> make_axes() {
  std::vector<Axis> all;
  for_each_alternative<Recipe>([&](const auto& kind) {
    Recipe recipe = kind;
    std::string update = "--update " + axis_of(recipe, "update");
    if (is<InStep>(recipe))
      update =
          "--update " + words_of({kUpdaterNames.all().begin(), kUpdaterNames.all().end()}, ", ");
    bool decided = false;
    for (const Setting& setting : settings_of(recipe)) {
      if (!setting.decides || setting.name == "update") continue;
      note_dependent(all, recipe, setting, update);
      decided = true;
    }
    if (decided) return;
    for (const Setting& setting : settings_of(recipe))
      note(all, setting, setting.name == "update" ? "" : update);
  });
  return all;
}

const Axis& axis_named(std::string_view name) {
  const auto all = axes();
  const auto it = std::ranges::find(all, name, &Axis::name);
  if (it == all.end()) throw ConfigError(fmt::format("--{}: there is no such setting", name));
  return *it;
}

// False: the recipe does not have it.
bool set(Recipe& recipe, const AxisValue& axis) {
  const std::vector<Setting> settings = settings_of(recipe);
  const auto it = std::ranges::find(settings, axis.name, &Setting::name);
  if (it == settings.end()) return false;
  try {
    it->set(axis.value);
  } catch (const ConfigError& error) {
    const std::string why = error.what();
    if (why.starts_with("--")) throw;
    throw ConfigError(fmt::format("--{} {}: {}", axis.name, axis.value, why));
  }
  return true;
}

// The choices that decide which axes the recipe has: "--update decentral --algorithm gossip".
std::string choices_of(const Recipe& recipe) {
  std::string text;
  Recipe copy = recipe;
  for (const Setting& setting : settings_of(copy))
    if (setting.decides) text += (text.empty() ? "" : " ") + flag_of(setting, setting.text());
  return text;
}

// Refuses axes that go with other choices than those of the recipe.
[[noreturn]] void refuse(const Recipe& recipe, const std::vector<AxisValue>& foreign) {
  std::vector<std::string> flags, homes;
  for (const AxisValue& axis : foreign) {
    flags.push_back("--" + axis.name);
    homes.push_back(fmt::format("--{}{} with {}", axis.name, homes.empty() ? " goes" : "",
                                words_of(axis_named(axis.name).goes_with, " or ")));
  }
  const bool one = flags.size() == 1;
  throw ConfigError(fmt::format("{} {} not go with {}: {}. Choose that, or omit {}",
                                words_of(flags, " and "), one ? "does" : "do", choices_of(recipe),
                                words_of(homes, " and "), one ? "it" : "them"));
}

}  // namespace

std::span<const Axis> axes() {
  static const std::vector<Axis> kAll = make_axes();
  return kAll;
}

void set_axes(Recipe& recipe, const std::vector<AxisValue>& values) {
  std::vector<AxisValue> rest;
  // First the kind, then other choices that decide which settings there are.
  for (const AxisValue& axis : values)
    if (axis.name == "update") set(recipe, axis);
  for (const AxisValue& axis : values) {
    if (axis.name == "update") continue;
    const std::vector<Setting> settings = settings_of(recipe);
    const auto it = std::ranges::find(settings, axis.name, &Setting::name);
    if (it != settings.end() && it->decides) {
      set(recipe, axis);
    } else {
      rest.push_back(axis);
    }
  }
  std::vector<AxisValue> foreign;
  for (const AxisValue& axis : rest)
    if (!set(recipe, axis)) foreign.push_back(axis);
  if (!foreign.empty()) refuse(recipe, foreign);
}

std::string axis_of(const Recipe& recipe, std::string_view name) {
  Recipe copy = recipe;
  for (const Setting& setting : settings_of(copy))
    if (setting.name == name) return setting.text();
  return "";
}

std::vector<std::pair<std::string, std::string>> axes_of(const Recipe& recipe) {
  const bool decentral = is<Decentral>(recipe);
  std::vector<std::pair<std::string, std::string>> all = {
      {"parallelism", "data"},
      {"optimization", decentral ? "decentral" : "central"},
      {"schedule", std::string(schedule_of(recipe))},
      {"encoding", encode_text(encode_of(recipe))}};
  Recipe copy = recipe;
  for (const Setting& setting : settings_of(copy)) all.emplace_back(setting.name, setting.text());
  return all;
}

std::string flag_of(const Setting& setting, std::string_view value) {
  return flag_of(setting.name, setting.is_switch, value);
}

std::string flags_between(const Recipe& from, const Recipe& to) {
  std::string flags;
  Recipe base = from, copy = to;
  for (const Setting& setting : settings_of(copy)) {
    const std::string value = setting.text();
    if (!setting.printed || axis_of(base, setting.name) == value) continue;
    set(base, {std::string(setting.name), value});
    flags += (flags.empty() ? "" : " ") + flag_of(setting, value);
  }
  return flags;
}

}  // namespace shoal
