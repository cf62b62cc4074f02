// SettingList: the settings of a plain struct, a row a field, in the order of the rows:
//
//   std::vector<Setting> settings_of(Options& o) {
//     SettingList list;
//     list.value("copies", o.copies, "of each part", {1, 4});
//     list.named("order", o.order, kOrderNames, "which bucket goes first");
//     list.form("topology", o.topology, parse_topology, {"ring", "regular:3"}, "who meets whom");
//     list.choice("algorithm", o.algorithm, "how models are combined");
//     return list.take();
//   }
//
// From these rows come flags, `--help`, config.toml, summaries, the tables of the docs, and the
// draws of the swarm.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/choice.h"
#include "base/names.h"

namespace shoal {

class SettingList {
 public:
  // A number, or a switch.
  template <class Value>
  void value(std::string_view name, Value& field, std::string_view help, Limits limits = {}) {
    rows_.push_back(value_setting(name, field, help, limits));
  }

  template <class Enum, std::size_t N>
  void named(std::string_view name, Enum& field, const Names<Enum, N>& names,
             std::string_view help) {
    rows_.push_back(named_setting(name, field, names, help));
  }

  // A value with text forms of its own; some of them are shown.
  template <class Value>
  void form(std::string_view name, Value& field, Value (*parse)(std::string_view),
            std::vector<std::string> shown, std::string_view help) {
    Setting row;
    row.name = name;
    row.help = help;
    row.choices = std::move(shown);
    row.text = [&field] { return std::string(to_string(field)); };
    row.set = [&field, parse](std::string_view text) { field = parse(text); };
    rows_.push_back(std::move(row));
  }

  // One of several alternatives, and its parameters as settings beside it. Another alternative
  // takes over the settings that both have.
  template <class... Alternatives>
  void choice(std::string_view name, std::variant<Alternatives...>& field, std::string_view help) {
    using Variant = std::variant<Alternatives...>;
    Setting row;
    row.name = name;
    row.help = help;
    row.choices = names_of<Variant>();
    row.decides = true;
    row.text = [&field] { return std::string(name_of(field)); };
    row.set = [&field](std::string_view text) {
      Variant other = default_of<Variant>(text);
      if (other.index() == field.index()) return;
      carry_over(settings_of(field), settings_of(other));
      field = std::move(other);
    };
    rows_.push_back(std::move(row));
    add(settings_of(field));
  }

  void add(Setting row) { rows_.push_back(std::move(row)); }
  void add(std::vector<Setting> rows) {
    for (Setting& row : rows) rows_.push_back(std::move(row));
  }
  std::vector<Setting> take() { return std::move(rows_); }

 private:
  std::vector<Setting> rows_;
};

}  // namespace shoal
