// What an all-reduce will take, by the alpha-beta-gamma model: Thakur, Rabenseifner, Gropp, IJHPCA
// 19(1), 2005, doi:10.1177/1094342005051521, with the overhead of LogGP (Alexandrov et al., SPAA
// 1995) where a member sends several messages at once.
//
//   a message of b bytes:  alpha + b beta;   k of them to k members at once:  (k-1) overhead more
//   adding b bytes:        b gamma
//
// Inside a host what is added is read where it lies, and costs no beta; what is kept is copied.
// Hosts are taken to be filled by consecutive ranks; the members of one host share its interface.
// In an ideal simulated network every prediction is what the simulator takes (a test says so).
#pragma once

#include <cstdint>
#include <string>

#include "base/types.h"
#include "collective/exchange.h"

namespace shoal {

struct LinkCost {
  double alpha = 0;     // seconds until a message of no bytes has arrived
  double beta = 0;      // seconds for each byte more
  double overhead = 0;  // seconds until the sender can send the next
};

struct CostModel {
  LinkCost inside;   // between members of one host
  LinkCost between;  // of two hosts
  double gamma = 0;  // seconds to add a byte to another
};

// Who takes part: P members on H hosts.
struct GroupShape {
  std::uint64_t members = 1;
  std::uint64_t hosts = 1;
};
GroupShape shape_of(const Group& group);

// Seconds. REQUIRES: not Auto.
double predict(Exchange exchange, const CostModel& costs, GroupShape shape, Bytes size);

struct Choice {
  Exchange exchange = Exchange::Ring;
  double seconds = 0;  // as predicted
  std::string why;     // a sentence for the log
};

// The cheapest; pure, so that members with the same numbers choose alike. Of equal ones the first
// in the order of kAllReduces, but the butterfly unless another is a fifth cheaper.
Choice choose(const CostModel& costs, GroupShape shape, Bytes size);

}  // namespace shoal
