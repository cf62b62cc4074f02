// Stochastic gradient descent. Robbins & Monro, Ann. Math. Stat. 22(3), 1951; with momentum:
// Polyak, USSR Comp. Math. 4(5), 1964, in the form of Sutskever et al., ICML 2013, as
// torch::optim::SGD writes both (no dampening). Bit-equal to it where B is a power of two.
//
//   d <- g / B + lambda w
//   sgd:        w <- w - eta d
//   momentum:   v <- mu v + d     w <- w - eta v
//   nesterov:   v <- mu v + d     w <- w - eta (d + mu v)
//
// Symbols: w parameter, g gradient summed over B samples, eta step size, lambda weight decay, mu
//   momentum, v velocity (slot 0).
// Cost a parameter: sgd reads 8 bytes and writes 4; the others read 12 and write 8.
#include <cmath>

#include "optim/loops.h"

namespace shoal {

void apply_sgd(const Rule& rule, const Terms& terms, const Piece& piece, Width width) {
  float* const w = piece.w;
  float* const v = piece.slot[0];
  const float* const from_w = piece.from_w;
  const float* const from_v = piece.from_slot[0];
  const auto scale = static_cast<float>(terms.scale);
  const auto decay = static_cast<float>(terms.decay);
  const auto mu = static_cast<float>(rule.momentum);
  const auto eta = -static_cast<float>(terms.eta);
  if (rule.kind == RuleKind::Sgd && decay == 0) {
    const auto by = static_cast<float>(static_cast<double>(eta) * terms.scale);
    run_rule(width, piece, [=](std::size_t n, auto g) SHOAL_INLINE {
      SHOAL_APART
      for (std::size_t i = 0; i < n; ++i) w[i] = std::fma(by, g(i), from_w[i]);
    });
  } else if (rule.kind == RuleKind::Sgd) {
    run_rule(width, piece, [=](std::size_t n, auto g) SHOAL_INLINE {
      SHOAL_APART
      for (std::size_t i = 0; i < n; ++i) {
        const float d = std::fma(decay, from_w[i], g(i) * scale);
        w[i] = std::fma(eta, d, from_w[i]);
      }
    });
  } else if (rule.kind == RuleKind::Momentum) {
    run_rule(width, piece, [=](std::size_t n, auto g) SHOAL_INLINE {
      SHOAL_APART
      for (std::size_t i = 0; i < n; ++i) {
        const float d = std::fma(decay, from_w[i], g(i) * scale);
        const float u = mu * from_v[i] + d;
        v[i] = u;
        w[i] = std::fma(eta, u, from_w[i]);
      }
    });
  } else {
    run_rule(width, piece, [=](std::size_t n, auto g) SHOAL_INLINE {
      SHOAL_APART
      for (std::size_t i = 0; i < n; ++i) {
        const float d = std::fma(decay, from_w[i], g(i) * scale);
        const float u = mu * from_v[i] + d;
        v[i] = u;
        w[i] = std::fma(eta, std::fma(mu, u, d), from_w[i]);
      }
    });
  }
}

}  // namespace shoal
