#include "base/choice.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"

namespace shoal {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end;
}

[[noreturn]] void refuse(std::string_view text, const Limits& limits, bool whole) {
  throw ConfigError(fmt::format("expected {}, not '{}'", range_text(limits, whole), text));
}

bool within(double value, const Limits& limits) {
  const bool enough = limits.above_least ? value > limits.least : value >= limits.least;
  return enough && value <= limits.most && std::isfinite(value);
}

std::string in_capitals(std::string_view name) {
  std::string text(name);
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

// Cuts off and returns the first word, up to a colon.
std::string_view next_word(std::string_view& words) {
  const std::size_t colon = words.find(':');
  const std::string_view word = words.substr(0, colon);
  words = colon == std::string_view::npos ? std::string_view() : words.substr(colon + 1);
  return word;
}

}  // namespace

std::string value_text(bool value, const Limits&) { return value ? "yes" : "no"; }

std::string value_text(double value, const Limits& limits) {
  return limits.or_auto && value == kAuto ? "auto" : fmt::format("{}", value);
}

std::string value_text(std::uint64_t value, const Limits&) { return fmt::format("{}", value); }

void read_value(std::string_view text, const Limits&, bool& value) {
  if (text != "yes" && text != "no")
    throw ConfigError(fmt::format("expected yes or no, not '{}'", text));
  value = text == "yes";
}

void read_value(std::string_view text, const Limits& limits, double& value) {
  if (limits.or_auto && text == "auto") {
    value = kAuto;
    return;
  }
  double number = 0;
  if (!read_number(text, number) || !within(number, limits)) refuse(text, limits, false);
  value = number;
}

void read_value(std::string_view text, const Limits& limits, std::uint64_t& value) {
  std::uint64_t number = 0;
  if (!read_number(text, number) || !within(static_cast<double>(number), limits))
    refuse(text, limits, true);
  value = number;
}

void read_value(std::string_view text, const Limits& limits, std::uint32_t& value) {
  std::uint64_t number = 0;
  read_value(text, limits, number);
  if (number > std::numeric_limits<std::uint32_t>::max()) refuse(text, limits, true);
  value = static_cast<std::uint32_t>(number);
}

std::string range_text(const Limits& limits, bool whole) {
  std::string text = whole ? "a whole number" : "a number";
  const char* const from = limits.above_least ? "above" : "from";
  text += fmt::format(" {} {:g}", from, limits.least);
  if (std::isfinite(limits.most)) {
    text += fmt::format("{} {:g}", limits.above_least ? ", at most" : " to", limits.most);
  } else if (!limits.above_least) {
    text += " on";
  }
  return limits.or_auto ? text + ", or auto" : text;
}

void carry_over(const std::vector<Setting>& from, const std::vector<Setting>& to) {
  for (const Setting& setting : to) {
    const auto same = std::ranges::find(from, setting.name, &Setting::name);
    if (same == from.end()) continue;
    try {
      setting.set(same->text());
    } catch (const ConfigError&) {
      continue;  // it keeps its default
    }
  }
}

namespace detail {

std::string print_form(const AlternativeForm& form) {
  // Up to the last one that is printed: positions count.
  std::size_t count = 0;
  for (std::size_t i = 0; i < form.settings.size(); ++i)
    if (form.settings[i].printed &&
        !(form.settings[i].is_switch && form.settings[i].text() == "no"))
      count = i + 1;
  std::string text(form.name);
  for (std::size_t i = 0; i < count; ++i) {
    const Setting& setting = form.settings[i];
    if (setting.is_switch && setting.text() == "no") continue;
    if (!text.empty()) text += ':';
    text += setting.is_switch ? std::string(setting.name) : setting.text();
  }
  return text;
}

void read_settings(const AlternativeForm& form, std::string_view words) {
  std::size_t i = 0;
  bool more = !words.empty() || form.name.empty();
  if (more && !form.name.empty()) words.remove_prefix(1);  // the colon
  while (more) {
    more = words.find(':') != std::string_view::npos;
    const std::string_view word = next_word(words);
    // A switch that is not named is off.
    while (i < form.settings.size() && form.settings[i].is_switch && form.settings[i].name != word)
      ++i;
    if (i == form.settings.size()) {
      throw ConfigError(form.settings.empty() ? fmt::format("{} takes no '{}'", form.name, word)
                                              : fmt::format("'{}' is one setting too many", word));
    }
    const Setting& setting = form.settings[i++];
    try {
      setting.set(setting.is_switch ? "yes" : word);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{} ({}): {}", setting.name, setting.help, error.what()));
    }
  }
  for (; i < form.settings.size(); ++i)
    if (form.settings[i].is_required)
      throw ConfigError(fmt::format("expected {}; {} is {} ({})", pattern(form),
                                    in_capitals(form.settings[i].name), form.settings[i].range,
                                    form.settings[i].help));
}

std::string pattern(const AlternativeForm& form) {
  std::string text(form.name);
  for (const Setting& setting : form.settings) {
    const bool optional = !setting.is_required && !text.empty();
    const std::string word =
        setting.is_switch ? std::string(setting.name) : in_capitals(setting.name);
    text += fmt::format("{}{}{}{}", optional ? "[" : "", text.empty() ? "" : ":", word,
                        optional ? "]" : "");
  }
  return text;
}

void refuse_name(std::string_view name, const std::vector<std::string>& known) {
  throw ConfigError(fmt::format("this is not known. {}", suggest(name.substr(0, 200), known)));
}

void refuse_unnamed(std::string_view why, const std::vector<std::string>& known) {
  std::vector<std::string> named = known;
  std::erase(named, "");
  throw ConfigError(named.empty() ? std::string(why)
                                  : fmt::format("{}; or take {}", why, one_of(named)));
}

void refuse(std::string_view flag, std::string_view text, std::string_view why) {
  throw ConfigError(fmt::format("{} {}: {}", flag, text.substr(0, 200), why));
}

}  // namespace detail

std::string one_of(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

}  // namespace shoal
