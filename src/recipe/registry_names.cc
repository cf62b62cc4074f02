// Systems by name.
#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "recipe/registry.h"

namespace shoal {

const System& default_system() { return systems().front(); }

const System& find_system(std::string_view name) {
  for (const System& system : systems()) {
    const bool alias = std::ranges::find(system.aliases, name) != system.aliases.end();
    if (system.name == name || alias) return system;
  }
  throw ConfigError(
      fmt::format("--like {}: no such system. {}", name, suggest(name, system_names())));
}

std::vector<std::string> system_names() {
  std::vector<std::string> names;
  for (const System& system : systems()) {
    names.emplace_back(system.name);
    names.insert(names.end(), system.aliases.begin(), system.aliases.end());
  }
  return names;
}

}  // namespace shoal
