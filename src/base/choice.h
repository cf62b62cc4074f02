// Choices by name: sum types whose alternatives have names and parameters, as `topk:0.01`.
//
// An alternative is a plain struct that says all there is to say about it:
//
//   struct Topk {
//     static constexpr std::string_view kName = "topk";
//     static constexpr std::string_view kHelp = "the elements of largest magnitude";
//     double ratio = 0.01;
//     static constexpr auto parameters() {
//       return std::tuple{Parameter{"ratio", &Topk::ratio, "part of the elements", {1e-6, 1}}};
//     }
//     bool operator==(const Topk&) const = default;
//   };
//
// and a choice is a list of them: `using Sparse = std::variant<Topk, RandomK>;`. Everything else is
// derived from that list: the text forms, the flags, `--help`, the tables of the docs, and the
// messages for what is wrong. So a new alternative touches its own file and the list.
//
// The text form of an alternative is its name, then its parameters in order, each after a colon.
// Parameters at the end may be left out, and have their defaults then, unless they are required. A
// switch is written as its name. An alternative whose name is empty is written as its parameters
// alone: `4`.
//
// Option structs list their parameters in the same way. There a parameter may itself be a choice,
// or an enum of base/names.h for which enum_names(Enum) returns the table; and Rows stand among the
// parameters where a field is not one setting:
//
//   Rows<Job>{[](Job& job) { return choice_settings("algorithm", job.algorithm, "..."); }}
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/names.h"

namespace shoal {

// A number that follows from others, written `auto`.
inline constexpr double kAuto = -1;

// Which numbers a parameter takes.
struct Limits {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool or_auto = false;
  bool above_least = false;  // least itself is not allowed
};

enum class Print : std::uint8_t {
  Always,
  IfSet,     // the text form leaves the parameter out while it has its default
  Required,  // the text form of an alternative must have it
};

template <class Owner, class Value>
struct Parameter {
  std::string_view name;
  Value Owner::*field;
  std::string_view help;  // a phrase: "part of the elements"
  Limits limits{};
  Print print = Print::Always;
};
// clang++ 14 deduces nothing for an aggregate.
template <class Owner, class Value>
Parameter(std::string_view, Value Owner::*, std::string_view, Limits = {}, Print = {})
    -> Parameter<Owner, Value>;

// One setting of a value: reads and writes a field of it. Lives no longer than the value.
struct Setting {
  std::string_view name;
  std::string_view help;
  Limits limits;
  bool is_switch = false;
  bool is_required = false;
  bool printed = true;
  bool decides = false;              // which other settings there are
  std::vector<std::string> choices;  // all of them, or some; empty: a number
  std::string range;                 // "a whole number from 1 on"
  std::function<std::string()> text;
  std::function<void(std::string_view)> set;  // throws ConfigError
};

// Among the parameters of an option struct: settings that a function makes.
template <class Owner>
struct Rows {
  std::vector<Setting> (*make)(Owner& owner);
};

// The text forms of single values. `read_value` throws ConfigError with what is allowed.
std::string value_text(bool value, const Limits& limits);
std::string value_text(double value, const Limits& limits);
std::string value_text(std::uint64_t value, const Limits& limits);
void read_value(std::string_view text, const Limits& limits, bool& value);
void read_value(std::string_view text, const Limits& limits, double& value);
void read_value(std::string_view text, const Limits& limits, std::uint64_t& value);
void read_value(std::string_view text, const Limits& limits, std::uint32_t& value);
std::string range_text(const Limits& limits, bool whole);

namespace detail {

// One alternative by itself, for messages and parsing.
struct AlternativeForm {
  std::string_view name;
  std::vector<Setting> settings;
};
std::string print_form(const AlternativeForm& form);
// The words behind the name. Throws ConfigError.
void read_settings(const AlternativeForm& form, std::string_view words);
// `bounded:STALENESS`, for messages.
std::string pattern(const AlternativeForm& form);
[[noreturn]] void refuse_name(std::string_view name, const std::vector<std::string>& known);
[[noreturn]] void refuse_unnamed(std::string_view why, const std::vector<std::string>& known);
[[noreturn]] void refuse(std::string_view flag, std::string_view text, std::string_view why);

template <class Value>
inline constexpr bool kIsChoice = false;
template <class... Alternatives>
inline constexpr bool kIsChoice<std::variant<Alternatives...>> = true;

}  // namespace detail

// Declared here for parameters that are themselves choices.
template <class... Alternatives>
std::string choice_text(const std::variant<Alternatives...>& choice);
template <class Choice>
Choice read_choice(std::string_view text);
template <class Choice>
std::vector<std::string> patterns_of();
template <class Choice>
std::vector<std::string> values_of();
std::string one_of(const std::vector<std::string>& words);  // "a, b or c"

// A number or a switch.
template <class Value>
Setting value_setting(std::string_view name, Value& field, std::string_view help, Limits limits) {
  Setting setting;
  setting.name = name;
  setting.help = help;
  setting.limits = limits;
  setting.is_switch = std::same_as<Value, bool>;
  if (setting.is_switch) setting.choices = {"yes", "no"};
  setting.range = range_text(limits, !std::same_as<Value, double>);
  using Wide = std::conditional_t<std::unsigned_integral<Value> && !std::same_as<Value, bool>,
                                  std::uint64_t, Value>;
  setting.text = [&field, limits] { return value_text(static_cast<Wide>(field), limits); };
  setting.set = [&field, limits](std::string_view text) { read_value(text, limits, field); };
  return setting;
}

// An enum with a table of names (base/names.h), which outlives the setting.
template <class Enum, std::size_t N>
Setting named_setting(std::string_view name, Enum& field, const Names<Enum, N>& names,
                      std::string_view help) {
  Setting setting;
  setting.name = name;
  setting.help = help;
  setting.choices.assign(names.all().begin(), names.all().end());
  setting.range = one_of(setting.choices);
  setting.text = [&field, &names] { return std::string(names.of(field)); };
  setting.set = [&field, &names, known = setting.choices](std::string_view text) {
    const auto value = names.find(text);
    if (!value) detail::refuse_name(text, known);
    field = *value;
  };
  return setting;
}

// A value with text forms of its own; some of them are shown.
template <class Value>
Setting form_setting(std::string_view name, Value& field, Value (*parse)(std::string_view),
                     std::vector<std::string> shown, std::string_view help) {
  Setting setting;
  setting.name = name;
  setting.help = help;
  setting.choices = std::move(shown);
  setting.text = [&field] { return std::string(to_string(field)); };
  setting.set = [&field, parse](std::string_view text) { field = parse(text); };
  return setting;
}

// Each setting that both have gets its value from the first, if it takes that.
void carry_over(const std::vector<Setting>& from, const std::vector<Setting>& to);

namespace detail {

template <class Owner, class Value>
Setting setting_of(const Parameter<Owner, Value>& parameter, Owner& owner) {
  Value& field = owner.*(parameter.field);
  Setting setting;
  if constexpr (std::is_arithmetic_v<Value>) {
    setting = value_setting(parameter.name, field, parameter.help, parameter.limits);
  } else if constexpr (kIsChoice<Value>) {
    setting.range = one_of(patterns_of<Value>());
    setting.choices = values_of<Value>();
    setting.text = [&field] { return choice_text(field); };
    setting.set = [&field](std::string_view text) { field = read_choice<Value>(text); };
  } else if constexpr (std::is_enum_v<Value>) {
    setting = named_setting(parameter.name, field, enum_names(Value()), parameter.help);
  } else {
    // A type with text forms of its own.
    setting.text = [&field] { return to_string(field); };
    setting.set = [&field](std::string_view text) { read_value(text, field); };
    if constexpr (requires { some_forms(field); }) setting.choices = some_forms(field);
  }
  setting.name = parameter.name;
  setting.help = parameter.help;
  setting.limits = parameter.limits;
  setting.is_required = parameter.print == Print::Required;
  setting.printed = parameter.print != Print::IfSet || !(field == Owner().*(parameter.field));
  return setting;
}

template <class Owner, class Value>
void add_settings(std::vector<Setting>& all, const Parameter<Owner, Value>& parameter,
                  Owner& owner) {
  all.push_back(setting_of(parameter, owner));
}
template <class Owner>
void add_settings(std::vector<Setting>& all, const Rows<Owner>& rows, Owner& owner) {
  for (Setting& setting : rows.make(owner)) all.push_back(std::move(setting));
}

}  // namespace detail

// The parameters of an alternative, or of an option struct, in order.
template <class Alternative>
std::vector<Setting> settings_of(Alternative& value) {
  std::vector<Setting> settings;
  if constexpr (requires { Alternative::parameters(); })
    std::apply(
        [&](const auto&... parameter) { (detail::add_settings(settings, parameter, value), ...); },
        Alternative::parameters());
  return settings;
}
template <class... Alternatives>
std::vector<Setting> settings_of(std::variant<Alternatives...>& choice) {
  return std::visit([](auto& value) { return settings_of(value); }, choice);
}

template <class... Alternatives>
std::string_view name_of(const std::variant<Alternatives...>& choice) {
  return std::visit([](const auto& value) { return value.kName; }, choice);
}

// f(Alternative()) for each, in the order of the list.
template <class Choice, class F>
void for_each_alternative(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f(std::variant_alternative_t<I, Choice>()), ...);
  }
  (std::make_index_sequence<std::variant_size_v<Choice>>());
}

template <class Choice>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for_each_alternative<Choice>([&](const auto& value) { names.emplace_back(value.kName); });
  return names;
}

// `bounded:STALENESS` of each.
template <class Choice>
std::vector<std::string> patterns_of() {
  std::vector<std::string> patterns;
  for_each_alternative<Choice>([&](auto value) {
    patterns.push_back(detail::pattern({value.kName, settings_of(value)}));
  });
  return patterns;
}

// Each with its defaults: `bounded:3`.
template <class Choice>
std::vector<std::string> values_of() {
  std::vector<std::string> values;
  for_each_alternative<Choice>(
      [&](const auto& value) { values.push_back(choice_text(Choice(value))); });
  return values;
}

// The alternative of this name with its defaults. Throws ConfigError with the nearest name.
template <class Choice>
Choice default_of(std::string_view name) {
  Choice choice;
  bool found = false;
  for_each_alternative<Choice>([&](const auto& value) {
    if (value.kName != name) return;
    choice = value;
    found = true;
  });
  if (!found) detail::refuse_name(name, names_of<Choice>());
  return choice;
}

// `topk:0.01`.
template <class... Alternatives>
std::string choice_text(const std::variant<Alternatives...>& choice) {
  auto copy = choice;
  return detail::print_form({name_of(copy), settings_of(copy)});
}

// Throws ConfigError with what is allowed.
template <class Choice>
Choice read_choice(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  bool found = false;
  Choice choice;
  for_each_alternative<Choice>([&](const auto& value) {
    if (found || value.kName.empty() || value.kName != name) return;
    found = true;
    choice = value;
    const std::string_view words =
        colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    detail::read_settings({name, settings_of(choice)}, words);
  });
  for_each_alternative<Choice>([&](const auto& value) {
    if (found || !value.kName.empty()) return;
    found = true;
    choice = value;
    try {
      detail::read_settings({"", settings_of(choice)}, text);
    } catch (const std::exception& error) {
      detail::refuse_unnamed(error.what(), names_of<Choice>());
    }
  });
  if (!found) detail::refuse_name(name, names_of<Choice>());
  return choice;
}

// For Rows: the name of one of several alternatives, and its parameters as settings beside it.
// Another alternative takes over the settings that both have.
template <class... Alternatives>
std::vector<Setting> choice_settings(std::string_view name, std::variant<Alternatives...>& field,
                                     std::string_view help) {
  using Variant = std::variant<Alternatives...>;
  Setting decider;
  decider.name = name;
  decider.help = help;
  decider.choices = names_of<Variant>();
  decider.decides = true;
  decider.text = [&field] { return std::string(name_of(field)); };
  decider.set = [&field](std::string_view text) {
    Variant other = default_of<Variant>(text);
    if (other.index() == field.index()) return;
    carry_over(settings_of(field), settings_of(other));
    field = std::move(other);
  };
  std::vector<Setting> all = settings_of(field);
  all.insert(all.begin(), std::move(decider));
  return all;
}

// Throws ConfigError with the flag, the text and what is allowed.
template <class Choice>
Choice parse_choice(std::string_view flag, std::string_view text) {
  try {
    return read_choice<Choice>(text);
  } catch (const std::exception& error) {
    detail::refuse(flag, text, error.what());
  }
}

}  // namespace shoal
