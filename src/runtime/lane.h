// Lane: one of several pieces of work that are done at the same time, in steps (Env::together).
#pragma once

#include "base/types.h"

namespace shoal {

class Lane {
 public:
  virtual ~Lane() = default;
  // One step, as small as what other threads may come between. False: there was none left.
  virtual bool step() = 0;
  // All steps that are left; the same, and faster.
  virtual void run() {
    while (step()) {
    }
  }
  // How much there is, in elements of Work::Backward.
  virtual Elements size() const = 0;
};

}  // namespace shoal
