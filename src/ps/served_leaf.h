// The leaf of a group of workers: a write-back cache of the parameters between its members and the
// servers. Li et al., OSDI 2014 (a worker of a group as proxy); Gupta et al., ICDM 2016 (Rudra's
// tree of servers).
//
//   as a round begins:    v <- w of the servers;  G <- 0
//   a member's gradient:  G <- G + g;  v <- v - eta g / n, as the servers will move by it
//   a member that asks:   reads v, at once
//   after n samples:      the leader pushes G to the servers, and reads w
//
// Symbols: n samples of a round, k B d of k members that make d steps each, in the mean.
// Cost of a gradient: 2N to add it and to update v, N for a reader; of a round 2N to and from the
//   servers.
// Staleness: a member lacks at most k - 1 gradients of its own group, those that other members are
//   computing; of each other group as many rounds as the bound allows (ps/consistency.h), and the
//   current round.
#pragma once

#include <memory>
#include <vector>

#include "optim/update.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Thread safety: none; it belongs to the thread of its node.
class Leaf {
 public:
  // It lives until kServing is retired for good: lost nodes may still read here.
  Leaf(Node& node, Elements N, Substance substance) : node_(node), N_(N), substance_(substance) {}

  // `w` as the servers have it; `sum` is where gradients are added up.
  Task<void> begin(Range w, Range sum);
  // `g` stays until this is done. One after the other, in any order.
  Task<void> absorb(const float* g, UpdateStep step);
  // All that was to be absorbed is.
  bool idle() const { return absorbing_ == 0; }
  // Read only. Whoever holds it may read it after later gradients too.
  std::shared_ptr<Arena> parameters() const { return now_; }
  Task<void> copy_to(Range w) const;

 private:
  std::shared_ptr<Arena> spare();

  Node& node_;
  Elements N_;
  Substance substance_;
  std::shared_ptr<Arena> now_;
  std::vector<std::shared_ptr<Arena>> versions_;  // those without other holders are free
  Range sum_;
  bool begun_ = false;  // something is in the sum
  bool busy_ = false;
  std::size_t absorbing_ = 0;
  Signal free_;
};

}  // namespace shoal
