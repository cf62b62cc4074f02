// Criteria for the choice between kinds of distributed training: Table 2 of Langer, He, Rahayu and
// Xue, "Distributed Training of Deep Learning Models: A Taxonomic Perspective", IEEE TPDS 31(12),
// 2020, for the kinds in the registry. A bound on staleness counts as asynchronous.
#pragma once

#include <string_view>

#include "recipe/recipe.h"

namespace shoal {

struct Criteria {
  std::string_view kind;     // "central, synchronous"
  bool needs_balanced_data;  // each worker needs samples of the same distribution
  std::string_view rate;     // the best learning rate in a larger cluster: higher, lower, likely
  unsigned overlap;          // complexity of overlapped communication, 1 to 3
  unsigned settings;         // complexity of additional settings, 1 to 3
  unsigned resilience;       // against sporadic disturbances, 1 to 3
  std::string_view reproducible;  // difficulty of repeating a run: easy, hard
};

const Criteria& criteria_of(const Recipe& recipe);

}  // namespace shoal
