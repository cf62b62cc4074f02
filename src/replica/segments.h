// The tensors of a model as the optimizers see them.
#pragma once

#include <vector>

#include "learner/layout.h"
#include "optim/update.h"

namespace shoal {

// Rules that adapt eta per tensor leave it unchanged for vectors (biases, norms).
inline std::vector<Segment> segments_of(const Layout& layout) {
  std::vector<Segment> segments;
  for (const TensorEntry& t : layout.parameter_tensors())
    segments.push_back({t.at, t.n, true, t.shape.size() > 1});
  return segments;
}

}  // namespace shoal
