#include "app/config.h"

#include <fmt/core.h>

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "base/nearest.h"

namespace shoal {
namespace {

// "--weight-decay" is called weight-decay in a file.
std::string key_of(const Option& option) {
  const std::string name = last_name(option);
  return name.substr(name.find_first_not_of('-'));
}

// The name of an option's type, for messages.
struct Named {
  const char* operator()(const bool*) const { return "true or false"; }
  const char* operator()(const std::int64_t*) const { return "a whole number"; }
  const char* operator()(const std::uint64_t*) const { return "a whole number from 0 on"; }
  const char* operator()(const double*) const { return "a number"; }
  const char* operator()(const std::string*) const { return "text"; }
  const char* operator()(const std::vector<std::string>*) const { return "a list of text"; }
};

// False: the value is of another type.
struct Assign {
  const ConfigValue& value;
  bool operator()(bool* target) const { return take(target); }
  bool operator()(std::int64_t* target) const { return take(target); }
  bool operator()(std::uint64_t* target) const {
    const auto* const n = std::get_if<std::int64_t>(&value);
    if (n == nullptr || *n < 0) return false;
    *target = static_cast<std::uint64_t>(*n);
    return true;
  }
  bool operator()(double* target) const {
    if (const auto* const n = std::get_if<std::int64_t>(&value)) {
      *target = static_cast<double>(*n);
      return true;
    }
    return take(target);
  }
  // A number is fine where a text may begin with one: --threads auto or 4.
  bool operator()(std::string* target) const {
    if (const auto* const n = std::get_if<std::int64_t>(&value)) {
      *target = std::to_string(*n);
      return true;
    }
    if (const auto* const x = std::get_if<double>(&value)) {
      *target = fmt::format("{}", *x);
      return true;
    }
    return take(target);
  }
  bool operator()(std::vector<std::string>* target) const { return take(target); }

  template <class T>
  bool take(T* target) const {
    const T* const v = std::get_if<T>(&value);
    if (v != nullptr) *target = *v;
    return v != nullptr;
  }
};

struct Value {
  ConfigValue operator()(const bool* v) const { return *v; }
  ConfigValue operator()(const std::int64_t* v) const { return *v; }
  ConfigValue operator()(const std::uint64_t* v) const { return static_cast<std::int64_t>(*v); }
  ConfigValue operator()(const double* v) const { return *v; }
  ConfigValue operator()(const std::string* v) const { return *v; }
  ConfigValue operator()(const std::vector<std::string>* v) const { return *v; }
};

}  // namespace

void apply_config(const std::vector<Option>& options, const std::vector<std::string>& given,
                  const std::vector<ConfigEntry>& entries, const std::string& file) {
  std::vector<std::string> known;
  for (const Option& option : options) known.push_back(key_of(option));
  for (const ConfigEntry& entry : entries) {
    const auto it = std::ranges::find(known, entry.key);
    if (it == known.end())
      throw ConfigError(fmt::format("{}:{}: unknown key '{}'. {}", file, entry.line, entry.key,
                                    suggest(entry.key, known)));
    const Option& option = options[static_cast<std::size_t>(it - known.begin())];
    if (std::ranges::find(given, last_name(option)) != given.end()) continue;
    if (!std::visit(Assign{entry.value}, option.target))
      throw ConfigError(fmt::format("{}:{}: {} = {}: expected {}", file, entry.line, entry.key,
                                    to_text(entry.value), std::visit(Named(), option.target)));
    if (option.choices.empty()) continue;
    const std::string text = *std::get<std::string*>(option.target);
    if (std::ranges::find(option.choices, text) == option.choices.end())
      throw ConfigError(fmt::format("{}:{}: {} = '{}' is not known. {}", file, entry.line,
                                    entry.key, text, suggest(text, option.choices)));
  }
}

std::vector<ConfigEntry> config_of(const std::vector<Option>& options,
                                   const std::vector<std::string>& without) {
  std::vector<ConfigEntry> entries;
  for (const Option& option : options) {
    if (std::ranges::find(without, last_name(option)) != without.end()) continue;
    ConfigEntry entry;
    entry.key = key_of(option);
    entry.value = std::visit(Value(), option.target);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace shoal
