// LinkWatch: whether steps take so much longer or shorter than they did that encodings should be
// chosen anew. Every member hears the same durations, so all get the same answer.
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
  // A step took so long at the slowest member, and `step` is next.
  void took(Duration longest, Step step);
  bool changed() const;

 private:
  Step chosen_in_;
  double usual_s_ = 0;  // what a step took after the choice
  std::uint64_t odd_steps_ = 0;
};

}  // namespace shoal
