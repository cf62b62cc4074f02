// LinkWatch: decides whether the duration of steps has changed so much that encodings must be
// chosen again. Every member gets the same durations, so all decide alike.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace shoal {

class LinkWatch {
 public:
  // Encodings were chosen before this step.
  void chosen(Step step) {
    chosen_in_ = step;
    odd_steps_ = 0;
  }
  // Notes the duration of a step at the slowest member; `step` is the next one.
  void took(Duration longest, Step step);
  bool changed() const;

 private:
  Step chosen_in_;
  double usual_s_ = 0;  // duration of a step after the choice
  std::uint64_t odd_steps_ = 0;
};

}  // namespace shoal
