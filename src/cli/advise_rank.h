// Which way of spreading training fits, from what simulated runs cost and what was answered: pure.
//
// An advice's worth is the rate that was predicted for it, as a part of the best one, times what
// its kind costs in learning where it is wanted otherwise (recipe/criteria.h). The factors are
// judgements, not measurements: `shoal compare` measures.
#pragma once

#include <string>
#include <vector>

#include "recipe/registry.h"

namespace shoal {

// What the cluster and the task are like.
struct Wishes {
  bool reproducible = false;  // runs must be repeatable
  bool unbalanced = false;    // workers see data of different kinds
  bool unstable = false;      // others use the cluster as well
  bool simple = false;        // nobody wants to tune
};

struct Advice {
  std::string system;
  double samples_per_s = 0;
  double bytes_per_sample = 0;
  double waiting = 0;  // part of the time
  // Of rank():
  double worth = 0;
  std::vector<std::string> reasons;  // for it, and against
};

// Best first.
std::vector<Advice> rank(std::vector<Advice> candidates, const Wishes& wishes);

}  // namespace shoal
