// The registry: every system of the literature that `--like` takes, as data. A system is a recipe
// with a name, a citation, and defaults of other options. sync.h, served.h or worker.h (decentral)
// executes it.
//
// A new system is an entry in registry_sync.cc, registry_served.cc or registry_decentral.cc. If it
// needs a new setting, add a field with a default to the options of its kind (recipe.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "recipe/recipe.h"

namespace shoal {

// Buckets of gradients: one for each tensor, or one for all tensors.
inline constexpr Bytes kEachTensor{1};
inline constexpr Bytes kOneBucket{std::uint64_t{1} << 62U};

struct System {
  std::string_view name;
  std::vector<std::string_view> aliases = {};  // other names of the system
  int year = 0;                                // 0: not from the literature
  std::string_view citation;
  std::string_view reference = {};  // "doi:..", "arXiv:.."; or empty
  std::string_view sentence;
  // The axes, and defaults of other options.
  Recipe recipe;
  Bytes bucket_bytes{1 << 20};
  // Adapts to the cluster: buckets are tuned, beginning with that size; between hosts each worker
  // updates everything, after the cheapest exchange.
  bool adapts = false;
  std::string_view optimizer = {};  // empty: by the model
  double eta_times = 1;             // factor of the optimizer's usual learning rate
  // The fewest workers.
  std::uint64_t workers_min = 1;
};

std::span<const System> systems();  // the default first, then by year
const System& default_system();
// By name or alias. Throws ConfigError with the nearest one.
const System& find_system(std::string_view name);
std::vector<std::string> system_names();  // with aliases, in the order of systems()

}  // namespace shoal
