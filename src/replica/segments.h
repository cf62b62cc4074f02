// The tensors of a model as the optimizers see them.
#pragma once

#include <vector>

#include "learner/layout.h"
#include "optim/update.h"

namespace shoal {

// Vectors (biases, norms) are left to eta as it is by the rules that adapt it by tensor.
inline std::vector<Segment> segments_of(const Layout& layout) {
  std::vector<Segment> segments;
  for (const TensorEntry& t : layout.parameter_tensors())
    segments.push_back({t.at, t.n, true, t.shape.size() > 1});
  return segments;
}

}  // namespace shoal
