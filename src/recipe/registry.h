// The registry: every system of the literature that `--like` takes, as data. A system is a recipe
// with a name and a citation, and what else it fixes; what carries it out is sync.h or served.h.
//
// A new one is an entry in registry.cc; an axis that no system had before is a field of Recipe with
// a default that leaves the others as they are, and a row in axes.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "recipe/recipe.h"

namespace shoal {

// Of gradients: each tensor is a bucket of its own, or all of them are one.
inline constexpr Bytes kEachTensor{1};
inline constexpr Bytes kOneBucket{std::uint64_t{1} << 62U};

struct System {
  std::string_view name;
  std::vector<std::string_view> aliases = {};  // the same thing under other names
  int year = 0;                                // 0: not of the literature
  std::string_view citation;
  std::string_view reference = {};  // "doi:..", "arXiv:.."; empty: there is none
  std::string_view sentence;
  // The axes, and defaults of what is no axis.
  Recipe recipe;
  Bytes bucket_bytes{1 << 20};
  // Takes what costs least where it runs: buckets tuned from that size on; between hosts everyone
  // updates, by the exchange that the links ask for.
  bool adapts = false;
  std::string_view optimizer = {};  // empty: by the model
  double eta_times = 1;             // the optimizer's usual step size, where none is given
  // What it needs.
  std::uint64_t workers_min = 1;
};

std::span<const System> systems();  // the default first, then by year
const System& default_system();
// By name or alias. Throws ConfigError with the nearest one.
const System& find_system(std::string_view name);
std::vector<std::string> system_names();  // with aliases, in the order of systems()

}  // namespace shoal
