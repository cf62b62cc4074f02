// The costs of work on this machine, for the simulator: measured in a second or two, or given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "learner/learner.h"
#include "optim/rule.h"
#include "sim/cluster.h"
#include "train/paced_learner.h"

namespace shoal {

// Nanoseconds an element.
struct ElementCosts {
  double reduce = 0;
  double update = 0;
  double copy = 0;
  double encode = 0;
  double decode = 0;
};

// "reduce=0.5,update=1.2,copy=0.3,encode=1,decode=1"; what is not named costs nothing. Throws
// ConfigError.
ElementCosts parse_element_costs(std::string_view text);
std::string to_text(const ElementCosts& costs);
// Sets them, and what Pace counts in.
void set_costs(Cluster& cluster, const ElementCosts& costs);

// The buckets of a learner's gradient, in the order in which they become ready.
std::vector<Elements> buckets_of(Learner& learner);
// The fastest of a few gradients of `batch` samples each.
Pace measure_pace(Learner& learner, std::uint64_t batch);
// One addition, update by the rule and copy of some millions of elements.
ElementCosts measure_elements(const Rule& rule);

}  // namespace shoal
