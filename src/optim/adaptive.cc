// Step sizes of each parameter's own, from its past gradients. Adagrad: Duchi, Hazan, Singer, JMLR
// 12, 2011. RMSprop: Tieleman & Hinton, Coursera lecture 6.5, 2012. As torch::optim writes them
// (no decay of Adagrad's step, RMSprop not centered).
//
//   d <- g / B + lambda w
//   adagrad:   s <- s + d^2                          w <- w - eta d / (sqrt(s) + epsilon)
//   rmsprop:   s <- alpha s + (1 - alpha) d^2        w <- w - eta d / (sqrt(s) + epsilon)
//     with momentum:   v <- mu v + d / (sqrt(s) + epsilon)     w <- w - eta v
//
// Symbols: w parameter, g gradient summed over B samples, eta step size, lambda weight decay, s sum
//   or mean of squares (slot 0), v velocity (slot 1), mu momentum.
// Cost a parameter: reads 12 bytes and writes 8; with momentum 16 and 12.
#include <cmath>

#include "optim/loops.h"

namespace shoal {

void apply_adaptive(const Rule& rule, const Terms& terms, const Piece& piece, Width width) {
  float* const w = piece.w;
  float* const s = piece.slot[0];
  float* const v = piece.slot[1];
  const float* const from_w = piece.from_w;
  const float* const from_s = piece.from_slot[0];
  const float* const from_v = piece.from_slot[1];
  const auto scale = static_cast<float>(terms.scale);
  const auto decay = static_cast<float>(terms.decay);
  const auto epsilon = static_cast<float>(rule.epsilon);
  const auto eta = -static_cast<float>(terms.eta);
  const auto alpha = static_cast<float>(rule.alpha);
  const auto fresh = static_cast<float>(1 - rule.alpha);
  const auto mu = static_cast<float>(rule.momentum);
  if (rule.kind == RuleKind::Adagrad) {
    run_rule(width, piece, [=](std::size_t n, auto g) SHOAL_INLINE {
      SHOAL_APART
      for (std::size_t i = 0; i < n; ++i) {
        const float d = std::fma(decay, from_w[i], g(i) * scale);
        const float sum = std::fma(d, d, from_s[i]);
        s[i] = sum;
        w[i] = from_w[i] + eta * d / (std::sqrt(sum) + epsilon);
      }
    });
  } else if (rule.momentum > 0) {
    run_rule(width, piece, [=](std::size_t n, auto g) SHOAL_INLINE {
      SHOAL_APART
      for (std::size_t i = 0; i < n; ++i) {
        const float d = std::fma(decay, from_w[i], g(i) * scale);
        const float mean = std::fma(fresh * d, d, alpha * from_s[i]);
        const float u = mu * from_v[i] + d / (std::sqrt(mean) + epsilon);
        s[i] = mean;
        v[i] = u;
        w[i] = std::fma(eta, u, from_w[i]);
      }
    });
  } else {
    run_rule(width, piece, [=](std::size_t n, auto g) SHOAL_INLINE {
      SHOAL_APART
      for (std::size_t i = 0; i < n; ++i) {
        const float d = std::fma(decay, from_w[i], g(i) * scale);
        const float mean = std::fma(fresh * d, d, alpha * from_s[i]);
        s[i] = mean;
        w[i] = from_w[i] + eta * d / (std::sqrt(mean) + epsilon);
      }
    });
  }
}

}  // namespace shoal
