// Predicts the time of an all-reduce by the alpha-beta-gamma model: Thakur, Rabenseifner, Gropp,
// IJHPCA 19(1), 2005, doi:10.1177/1094342005051521, with the overhead of LogGP (Alexandrov et al.,
// SPAA 1995) where a member sends several messages at once.
//
//   a message of b bytes:  alpha + b beta;   k of them to k members at once:  (k-1) overhead more
//   adding b bytes:        b gamma
//
// Inside a host an addition reads its operands in place, at no beta; copies are paid for. The model
// assumes that consecutive ranks fill the hosts and that the members of a host share its network
// interface. In an ideal simulated network the simulator takes exactly the predicted time (a test
// checks it).
#pragma once

#include <cstdint>
#include <string>

#include "base/types.h"
#include "collective/cost_terms.h"
#include "collective/exchange.h"

namespace shoal {

GroupShape shape_of(const Group& group);

// Seconds. REQUIRES: not Auto.
double predict(Exchange exchange, const CostModel& costs, GroupShape shape, Bytes size);

struct Choice {
  Exchange exchange = Exchange::Ring;
  double seconds = 0;  // as predicted
  std::string why;     // a sentence for the log
};

// The exchange with the least weighted cost, and of equal ones the first in kAllReduces. Pure, so
// that members with the same numbers choose alike.
Choice choose(const CostModel& costs, GroupShape shape, Bytes size);

}  // namespace shoal
