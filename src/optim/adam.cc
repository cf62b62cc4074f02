// Adam. Kingma & Ba, ICLR 2015, arXiv:1412.6980, Algorithm 1; AdamW: Loshchilov & Hutter, ICLR
// 2019, arXiv:1711.05101, Algorithm 2. As torch::optim::Adam and AdamW write them (no AMSGrad).
//
//   adam:    d <- g / B + lambda w
//   adamw:   d <- g / B               w <- w (1 - eta lambda)
//   m <- beta1 m + (1 - beta1) d      v <- beta2 v + (1 - beta2) d^2
//   w <- w - eta / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
//
// Symbols: w parameter, g gradient summed over B samples, eta step size (the paper's alpha), lambda
//   weight decay, m mean gradient (slot 0), v mean square (slot 1), t step, from 1.
// Cost a parameter: reads 16 bytes and writes 12.
#include <cmath>

#include "optim/loops.h"

namespace shoal {

void apply_adam(const Rule& rule, const Terms& terms, const Piece& piece, Width width) {
  float* const w = piece.w;
  float* const m = piece.slot[0];
  float* const v = piece.slot[1];
  const float* const from_w = piece.from_w;
  const float* const from_m = piece.from_slot[0];
  const float* const from_v = piece.from_slot[1];
  const bool decoupled = rule.kind == RuleKind::AdamW;
  const auto scale = static_cast<float>(terms.scale);
  const auto decay = static_cast<float>(decoupled ? 0 : terms.decay);
  const auto keep = static_cast<float>(decoupled ? 1 - terms.eta * terms.decay : 1);
  const auto t = static_cast<double>(terms.t);
  const auto beta1 = static_cast<float>(rule.beta1);
  const auto beta2 = static_cast<float>(rule.beta2);
  const auto fresh1 = static_cast<float>(1 - rule.beta1);
  const auto fresh2 = static_cast<float>(1 - rule.beta2);
  const auto unbias = static_cast<float>(std::sqrt(1 - std::pow(rule.beta2, t)));
  const auto eta = static_cast<float>(-terms.eta / (1 - std::pow(rule.beta1, t)));
  const auto epsilon = static_cast<float>(rule.epsilon);
  run_rule(width, piece, [=](std::size_t n, auto g) SHOAL_INLINE {
    SHOAL_APART
    for (std::size_t i = 0; i < n; ++i) {
      const float kept = keep * from_w[i];
      const float d = std::fma(decay, from_w[i], g(i) * scale);
      const float mean = std::fma(fresh1, d, beta1 * from_m[i]);
      const float square = std::fma(fresh2 * d, d, beta2 * from_v[i]);
      m[i] = mean;
      v[i] = square;
      w[i] = kept + eta * mean / (std::sqrt(square) / unbias + epsilon);
    }
  });
}

}  // namespace shoal
