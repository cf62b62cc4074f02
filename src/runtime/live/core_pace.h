// CorePace: decides when a computing thread should leave its core.
//
// A core of a virtual machine is usually one of two threads of a physical core, and little more
// than half as fast while the other one is busy. The guest's kernel does not see this and leaves a
// thread where it is. So pieces of the same work are timed, the first few on different cores. If
// two pieces in a row are slower than the fastest ones, the thread moves to an idle core that was
// not slow recently. If moves do not help, because all cores are slow or the work itself takes
// longer now, they become rarer.
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
  // Two workers may share a physical core and only one should leave it, so each draws from its own
  // seed.
  explicit CorePace(Seed seed) : random_(seed, Purpose::Cores) {}

  // A piece took `took` of CPU time. True: leave the core.
  bool leave(int core, Time now, Duration took);
  bool slow_lately(int core, Time now) const;

 private:
  double fast_s() const;

  Random random_;
  std::array<double, 64> lately_s_{};  // a ring of recent pieces
  std::size_t seen_ = 0;
  std::map<int, Time> slow_;  // cores, and when they were last slow
  int slow_pieces_ = 0;       // consecutive ones on this core
  int moves_ = 0;             // since the last piece that was not slow
  int rest_ = 0;              // slow pieces to ignore before the next move
};

}  // namespace shoal
