// Ranks ways of training by the costs of simulated runs and the user's answers; pure.
//
// The worth of a system is its predicted rate, relative to the best one, times a penalty for what
// its kind costs in learning (recipe/criteria.h), if the user cares. The penalties are judgements,
// not measurements: `shoal compare` measures.
#pragma once

#include <string>
#include <vector>

#include "recipe/registry.h"

namespace shoal {

// The user's answers about cluster and task.
struct Wishes {
  bool reproducible = false;  // runs must be repeatable
  bool unbalanced = false;    // workers have different distributions of data
  bool unstable = false;      // other jobs disturb the cluster
  bool simple = false;        // the user does not want to tune
};

struct Advice {
  std::string system;
  double samples_per_s = 0;
  double bytes_per_sample = 0;
  double waiting = 0;  // fraction of the time
  // Set by rank():
  double worth = 0;
  std::vector<std::string> reasons;  // for and against
};

// Best first.
std::vector<Advice> rank(std::vector<Advice> candidates, const Wishes& wishes);

}  // namespace shoal
