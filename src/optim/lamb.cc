// LAMB: Adam's direction, scaled for each tensor to the length of its parameters. You et al., ICLR
// 2020, arXiv:1904.00962, Algorithm 2, with phi the identity.
//
//   m <- beta1 m + (1 - beta1) g / B       v <- beta2 v + (1 - beta2) (g / B)^2
//   u <- m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + lambda w
//   w <- w - eta |w_l| / |u_l| u           norms over each tensor l
//
// Symbols: w parameter, g gradient summed over B samples, eta step size, lambda weight decay, m
//   mean gradient (slot 0), v mean square (slot 1), t step, from 1.
// Cost a parameter: measuring reads 16 bytes; the update reads 16 and writes 12. Measuring computes
//   u without keeping it, so that it changes nothing and may be repeated after a failure.
// Deviations: the ratio is 1 where either norm is zero, and for tensors that are not to be adapted.
#include <cmath>

#include "optim/loops.h"

namespace shoal {

namespace {

struct Constants {
  float scale, decay, beta1, beta2, fresh1, fresh2, unbias1, unbias2, epsilon;
};

Constants constants_of(const Rule& rule, const Terms& terms) {
  const auto t = static_cast<double>(terms.t);
  return {.scale = static_cast<float>(terms.scale),
          .decay = static_cast<float>(terms.decay),
          .beta1 = static_cast<float>(rule.beta1),
          .beta2 = static_cast<float>(rule.beta2),
          .fresh1 = static_cast<float>(1 - rule.beta1),
          .fresh2 = static_cast<float>(1 - rule.beta2),
          .unbias1 = static_cast<float>(1 / (1 - std::pow(rule.beta1, t))),
          .unbias2 = static_cast<float>(1 / std::sqrt(1 - std::pow(rule.beta2, t))),
          .epsilon = static_cast<float>(rule.epsilon)};
}

// m and v after the step.
struct Moments {
  float m, v;
};
SHOAL_INLINE inline Moments moments(const Constants& c, float g, float m, float v) {
  const float d = g * c.scale;
  return {std::fma(c.fresh1, d, c.beta1 * m), std::fma(c.fresh2 * d, d, c.beta2 * v)};
}
SHOAL_INLINE inline float direction(const Constants& c, Moments after, float w) {
  const float r = after.m * c.unbias1 / (std::sqrt(after.v) * c.unbias2 + c.epsilon);
  return std::fma(c.decay, w, r);
}

}  // namespace

double lamb_ratio(double w_norm, double u_norm) {
  if (!(w_norm > 0) || !(u_norm > 0)) return 1;
  return w_norm / u_norm;
}

Squares measure_lamb(const Rule& rule, const Terms& terms, const Piece& piece, Width width) {
  const float* const w = piece.w;
  const float* const g = piece.g;
  const float* const m = piece.slot[0];
  const float* const v = piece.slot[1];
  const Constants c = constants_of(rule, terms);
  Squares sums;
  run_wide(width, piece.n, [=, &sums](std::size_t n) SHOAL_INLINE {
    Lanes of_w, of_u;
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (const float* const x : {w, g, m, v}) fetch_ahead(x + i);
      for (std::size_t j = 0; j < kLanes; ++j) {
        const float u = direction(c, moments(c, g[i + j], m[i + j], v[i + j]), w[i + j]);
        of_w.add_square(j, w[i + j]);
        of_u.add_square(j, u);
      }
    }
    for (std::size_t j = 0; i < n; ++i, ++j) {
      of_w.add_square(j, w[i]);
      of_u.add_square(j, direction(c, moments(c, g[i], m[i], v[i]), w[i]));
    }
    sums = {of_w.total(), of_u.total()};
  });
  return sums;
}

void apply_lamb(const Rule& rule, const Terms& terms, const Piece& piece, Width width) {
  float* const w = piece.w;
  const float* const g = piece.g;
  float* const m = piece.slot[0];
  float* const v = piece.slot[1];
  const float* const from_w = piece.from_w;
  const float* const from_m = piece.from_slot[0];
  const float* const from_v = piece.from_slot[1];
  const Constants c = constants_of(rule, terms);
  const auto eta = static_cast<float>(-terms.eta * terms.ratio);
  run_wide(width, piece.n, [=](std::size_t n) SHOAL_INLINE {
    SHOAL_APART
    for (std::size_t i = 0; i < n; ++i) {
      const Moments after = moments(c, g[i], from_m[i], from_v[i]);
      m[i] = after.m;
      v[i] = after.v;
      w[i] = std::fma(eta, direction(c, after, from_w[i]), from_w[i]);
    }
  });
}

}  // namespace shoal
