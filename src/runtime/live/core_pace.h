// CorePace: when what computes had better leave the core that it is on.
//
// A core of a virtual machine is as a rule one of two threads of a real one, and little more than
// half as fast while somebody computes on the other: a stranger, or a worker beside us. The kernel
// of the machine does not see that, and leaves a thread where it is. So pieces of the same work are
// timed: the first few on as many cores as there are pieces; and where two of them, one after the
// other, are slower than the fastest were, their core is left for one that idles and was not found
// slow lately. Where that is in vain, because all cores are slow or the work itself takes longer
// now, it is tried ever more seldom.
#pragma once

#include <array>
#include <cstddef>
#include <map>

#include "base/random.h"
#include "base/types.h"

namespace shoal {

// Thread safety: none.
class CorePace {
 public:
  // Of two workers whose cores are one only one shall leave it: they draw, each by its own seed.
  explicit CorePace(Seed seed) : random_(seed, Purpose::Cores) {}

  // A piece took so long, of the core's time. True: leave it.
  bool leave(int core, Time now, Duration took);
  bool slow_lately(int core, Time now) const;

 private:
  double fast_s() const;

  Random random_;
  std::array<double, 64> lately_s_{};  // the pieces before, as a ring
  std::size_t seen_ = 0;
  std::map<int, Time> slow_;  // cores, and when they were last slow
  int slow_pieces_ = 0;       // on this core, one after the other
  int moves_ = 0;             // since the last piece that was not slow
  int rest_ = 0;              // slow pieces before the next move
};

}  // namespace shoal
