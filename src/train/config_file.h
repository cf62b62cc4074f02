// config.toml: options as a flat list of dotted keys, read from what a user wrote and written for
// whoever repeats the run. Which keys exist, and of which type, is for the command line to say.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shoal {

using ConfigValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;
std::string to_text(const ConfigValue& value);  // as TOML writes it

struct ConfigEntry {
  std::string key;  // "codec.topk.ratio"
  ConfigValue value;
  std::uint32_t line = 0;  // of the value, from 1; 0: from no file
  std::uint32_t column = 0;
};

// In the order of the file. Throws ConfigError with file:line:column for what is no TOML, a key
// that is there twice, and values that no option has (dates, lists of lists or tables). Numbers and
// truth values in a list become their text.
std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& file);

// Keys without a dot first, then one table for each beginning, in the order of their first key.
// REQUIRES: no key is another's table.
std::string config_text(std::span<const ConfigEntry> entries);

}  // namespace shoal
