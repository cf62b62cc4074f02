// CostTerms: the numbers of which the formulas of cost.h consist. The formula of a collective is in
// its file.
#pragma once

#include <cstdint>

#include "base/types.h"

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

// P members on H hosts.
struct GroupShape {
  std::uint64_t members = 1;
  std::uint64_t hosts = 1;

  // Whether all links are alike: one host, or one member on each.
  bool is_flat() const { return hosts == 1 || hosts == members; }
};

struct CostTerms {
  CostTerms(const CostModel& c, GroupShape s, Bytes bytes);

  // A message whose content is added where it arrives.
  double given(double bytes) const { return far ? out.alpha + bytes * out.beta : in.alpha; }

  const CostModel& costs;
  GroupShape shape;
  Bytes size;
  double P, H, k;  // members, hosts, members on each host
  double m;        // bytes
  LinkCost in, out;
  bool far;       // between hosts
  LinkCost link;  // the slowest on the way
  double gamma;
};

// The binary logarithm, rounded up.
double rounds_among(std::uint64_t n);

// The rounds among a power of two of members: those over the longest distances cross hosts.
struct PowerOfTwoRounds {
  explicit PowerOfTwoRounds(const CostTerms& t);
  double Q, abroad, at_home;
};

// The terms that the other members add to it (fold.h).
double fold_seconds(const CostTerms& t, const PowerOfTwoRounds& r);

}  // namespace shoal
