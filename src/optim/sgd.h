// Stochastic gradient descent. Robbins & Monro, Ann. Math. Stat. 22(3), 1951.
//
//   w -= eta * g / B        g: gradient summed over a batch of B samples
#pragma once

#include "runtime/env.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

struct Sgd {
  float eta = 0.1F;
};

// One fused pass: w = fma(-eta/B, g, w).
Task<void> update(Env& env, const Sgd& rule, Range w, Range g, std::uint64_t batch);

}  // namespace shoal
