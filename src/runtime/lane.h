// Lane: one of several pieces of work that run at the same time, in steps (Env::together).
#pragma once

#include "base/types.h"

namespace shoal {

class Lane {
 public:
  virtual ~Lane() = default;
  // Makes one step, as small as an access that other threads may interleave. False: none was left.
  virtual bool step() = 0;
  // Makes all remaining steps; the same, but faster.
  virtual void run() {
    while (step()) {
    }
  }
  // The size of the work, in elements of Work::Backward.
  virtual Elements size() const = 0;
};

}  // namespace shoal
