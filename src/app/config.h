// Options from a TOML file: its keys are the flags' names, and flags win.
#pragma once

#include <string>
#include <vector>

#include "app/command.h"
#include "train/config_file.h"

namespace shoal {

// Sets the targets of options that the command line did not give. Throws ConfigError with file and
// line: an unknown key (with the nearest known), a value of another type.
void apply_config(const std::vector<Option>& options, const std::vector<std::string>& given,
                  const std::vector<ConfigEntry>& entries, const std::string& file);

// The current values of the options, except the named ones.
std::vector<ConfigEntry> config_of(const std::vector<Option>& options,
                                   const std::vector<std::string>& without);

}  // namespace shoal
