// config.toml: options as a flat list of dotted keys, read from a user's file and written so that
// the run can be repeated. The command line decides which keys exist, and their types.
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
  std::uint32_t line = 0;  // of the value, from 1; 0: not from a file
  std::uint32_t column = 0;
};

// In the order of the file. Throws ConfigError with file:line:column for malformed TOML, a repeated
// key, and values that no option has (dates, lists of lists or tables). Numbers and booleans in a
// list become text.
std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& file);

// Keys without a dot first, then one table per prefix, in the order of their first key. REQUIRES:
// no key is the prefix of another.
std::string config_text(std::span<const ConfigEntry> entries);

}  // namespace shoal
