// What speaks for and against a way of spreading training: Table 2 of Langer, He, Rahayu and Xue,
// "Distributed Training of Deep Learning Models: A Taxonomic Perspective", IEEE TPDS 31(12), 2020,
// for the kinds of systems that are in the registry. A bound on staleness counts as asynchronous.
#pragma once

#include <string_view>

#include "recipe/recipe.h"

namespace shoal {

struct Criteria {
  std::string_view kind;          // "central, synchronous"
  bool needs_balanced_data;       // each worker's samples must look like all
  std::string_view rate;          // the best step size as the cluster grows: higher, lower, likely
  unsigned overlap;               // complexity by communication that overlaps computing, 1 to 3
  unsigned settings;              // complexity by settings of its own, 1 to 3
  unsigned resilience;            // to sporadic influences from outside, 1 to 3
  std::string_view reproducible;  // how hard it is to repeat a run: easy, hard
};

const Criteria& criteria_of(const Recipe& recipe);

}  // namespace shoal
