#include "train/config_file.h"

#include <fmt/core.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"

namespace shoal {
namespace {

[[noreturn]] void refuse(const std::string& file, const toml::source_position& at,
                         std::string_view what) {
  throw ConfigError(fmt::format("{}:{}:{}: {}", file, at.line, at.column, what));
}

std::string string_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      quoted += fmt::format("\\{}", c);
    else if (c == '\n')
      quoted += "\\n";
    else if (byte < 0x20 || byte == 0x7f)
      quoted += fmt::format("\\u{:04x}", byte);
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string double_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Quotes a key, or the part before its last dot, if it has other than plain characters.
std::string key_text(std::string_view dotted) {
  std::string text;
  for (std::size_t at = 0; at <= dotted.size();) {
    const std::size_t end = std::min(dotted.find('.', at), dotted.size());
    const std::string_view name = dotted.substr(at, end - at);
    const bool bare = !name.empty() && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '-' || c == '_';
    });
    text +=
        fmt::format("{}{}", text.empty() ? "" : ".", bare ? std::string(name) : string_text(name));
    at = end + 1;
  }
  return text;
}

class Flattener {
 public:
  explicit Flattener(const std::string& file) : file_(file) {}

  void add(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      if (const toml::table* below = node.as_table())
        add(*below, key + ".");
      else
        add_value(key, node);
    }
  }
  std::vector<ConfigEntry> take() {
    std::ranges::stable_sort(entries_, {},
                             [](const ConfigEntry& e) { return std::pair(e.line, e.column); });
    return std::move(entries_);
  }

 private:
  void add_value(const std::string& key, const toml::node& node) {
    const toml::source_position at = node.source().begin;
    if (!keys_.insert(key).second) refuse(file_, at, fmt::format("{} is set twice", key));
    ConfigEntry entry;
    entry.key = key;
    entry.line = at.line;
    entry.column = at.column;
    if (const toml::array* list = node.as_array())
      entry.value = list_of(key, *list);
    else
      entry.value = scalar(key, node);
    entries_.push_back(std::move(entry));
  }
  std::vector<std::string> list_of(const std::string& key, const toml::array& list) const {
    std::vector<std::string> texts;
    for (const toml::node& item : list) {
      const ConfigValue value = scalar(key, item);
      const auto* text = std::get_if<std::string>(&value);
      texts.push_back(text != nullptr ? *text : to_text(value));
    }
    return texts;
  }
  ConfigValue scalar(const std::string& key, const toml::node& node) const {
    if (const auto* value = node.as_boolean()) return value->get();
    if (const auto* value = node.as_integer()) return value->get();
    if (const auto* value = node.as_floating_point()) return value->get();
    if (const auto* value = node.as_string()) return value->get();
    const bool date = node.is_date() || node.is_time() || node.is_date_time();
    refuse(file_, node.source().begin,
           fmt::format("{} is {}; a value is true or false, a number, \"text\", or a list of these",
                       key, date ? "a date or a time" : "a list or a table inside a list"));
  }

  const std::string& file_;
  std::set<std::string> keys_;
  std::vector<ConfigEntry> entries_;
};

}  // namespace

std::string to_text(const ConfigValue& value) {
  struct Text {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return double_text(v); }
    std::string operator()(const std::string& v) const { return string_text(v); }
    std::string operator()(const std::vector<std::string>& v) const {
      std::string text = "[";
      for (const std::string& item : v)
        text += fmt::format("{}{}", text.size() == 1 ? "" : ", ", string_text(item));
      return text + "]";
    }
  };
  return std::visit(Text(), value);
}

std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& file) {
  toml::table table;
  try {
    table = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    refuse(file, error.source().begin, error.description());
  }
  Flattener flattener(file);
  flattener.add(table, "");
  return flattener.take();
}

std::string config_text(std::span<const ConfigEntry> entries) {
  std::vector<std::string> tables = {""};
  std::map<std::string, std::string> lines;
  for (const ConfigEntry& entry : entries) {
    const std::size_t dot = entry.key.rfind('.');
    const std::string table = dot == std::string::npos ? "" : entry.key.substr(0, dot);
    if (std::ranges::find(tables, table) == tables.end()) tables.push_back(table);
    const std::string name = dot == std::string::npos ? entry.key : entry.key.substr(dot + 1);
    lines[table] += fmt::format("{} = {}\n", key_text(name), to_text(entry.value));
  }
  std::string text;
  for (const std::string& table : tables) {
    if (!table.empty()) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", key_text(table));
    text += lines[table];
  }
  return text;
}

}  // namespace shoal
