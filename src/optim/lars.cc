// LARS: each tensor moves by a part of its own length. You, Gitman, Ginsburg 2017,
// arXiv:1708.03888, Algorithm 1.
//
//   ratio_l <- trust |w_l| / (|g_l| / B + lambda |w_l|)           one for each tensor l
//   v <- mu v + eta ratio_l (g / B + lambda w)        w <- w - v
//
// Symbols: w parameter, g gradient summed over B samples, eta step size (the paper's gamma), trust
//   its eta, lambda weight decay (its beta), mu momentum (its m), v velocity (slot 0).
// Cost a parameter: measuring reads 8 bytes; the update reads 12 and writes 8.
// Deviations: ratio_l is 1 where |w_l| or |g_l| is zero, and for tensors that are not to be adapted
//   (biases, norms).
#include <cmath>

#include "optim/loops.h"

namespace shoal {

double lars_ratio(const Rule& rule, double decay, double w_norm, double g_norm) {
  if (!(w_norm > 0) || !(g_norm > 0)) return 1;
  return rule.trust * w_norm / (g_norm + decay * w_norm);
}

void apply_lars(const Rule& rule, const Terms& terms, const Piece& piece, Width width) {
  float* const w = piece.w;
  const float* const g = piece.g;
  float* const v = piece.slot[0];
  const float* const from_w = piece.from_w;
  const float* const from_v = piece.from_slot[0];
  const auto scale = static_cast<float>(terms.scale);
  const auto decay = static_cast<float>(terms.decay);
  const auto mu = static_cast<float>(rule.momentum);
  const auto eta = static_cast<float>(terms.eta * terms.ratio);
  run_wide(width, piece.n, [=](std::size_t n) SHOAL_INLINE {
    SHOAL_APART
    for (std::size_t i = 0; i < n; ++i) {
      const float d = std::fma(decay, from_w[i], g[i] * scale);
      const float u = std::fma(eta, d, mu * from_v[i]);
      v[i] = u;
      w[i] = from_w[i] - u;
    }
  });
}

}  // namespace shoal
