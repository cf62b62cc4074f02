// Gradients that differ by worker and step, and a grid of pieces of uneven size for them.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "runtime/range.h"

namespace shoal {

inline Cuts uneven_pieces(std::uint64_t n) {
  Cuts cuts;
  std::uint64_t at = 0;
  for (std::uint64_t size = 1; at < n; size = size * 3 + 1) {
    const std::uint64_t here = std::min(size, n - at);
    cuts.push_back({Elements(at), Elements(here)});
    at += here;
  }
  return cuts;
}

inline std::vector<float> gradient_of(std::uint64_t worker, std::uint64_t step, std::uint64_t n) {
  Random random(Seed(7), Purpose::Test, worker, step);
  std::vector<float> g(n);
  for (float& x : g) x = static_cast<float>(random.normal());
  return g;
}

}  // namespace shoal
