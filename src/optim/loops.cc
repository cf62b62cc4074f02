#include "optim/loops.h"

#include <algorithm>

namespace shoal {

Squares squares_of(const float* x, const float* y, std::size_t n, Width width) {
  Squares sums;
  run_wide(width, n, [x, y, &sums](std::size_t count) SHOAL_INLINE {
    Lanes of_x, of_y;
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      fetch_ahead(x + i);
      fetch_ahead(y + i);
      for (std::size_t j = 0; j < kLanes; ++j) {
        of_x.add_square(j, x[i + j]);
        of_y.add_square(j, y[i + j]);
      }
    }
    for (std::size_t j = 0; i < count; ++i, ++j) {
      of_x.add_square(j, x[i]);
      of_y.add_square(j, y[i]);
    }
    sums = {of_x.total(), of_y.total()};
  });
  return sums;
}

double squares_of(const float* x, std::size_t n, Width width) {
  // In two halves side by side: a single stream of loads leaves memory bandwidth unused.
  const std::size_t half = n / 2;
  const Squares halves = squares_of(x, x + half, half, width);
  const double odd = n % 2 == 1 ? static_cast<double>(x[n - 1]) : 0;
  return halves.first + halves.second + odd * odd;
}

void add_up(std::span<const float* const> terms, std::size_t at, std::size_t count, float* sum,
            Width width) {
  run_wide(width, count, [=](std::size_t n) SHOAL_INLINE {
    float* __restrict to = sum;
    const float* const first = terms[0] + at;
    const float* const second = terms[1] + at;
    for (std::size_t i = 0; i < n; ++i) to[i] = first[i] + second[i];
    for (std::size_t k = 2; k < terms.size(); ++k) {
      const float* const term = terms[k] + at;
      for (std::size_t i = 0; i < n; ++i) to[i] += term[i];
    }
  });
}

void apply_rule(const Rule& rule, const Terms& terms, const Piece& piece, Width width) {
  if (rule.own != nullptr) return apply_own(rule, terms, piece);
  switch (rule.kind) {
    case RuleKind::Sgd:
    case RuleKind::Momentum:
    case RuleKind::Nesterov: return apply_sgd(rule, terms, piece, width);
    case RuleKind::Adagrad:
    case RuleKind::Rmsprop: return apply_adaptive(rule, terms, piece, width);
    case RuleKind::Adam:
    case RuleKind::AdamW: return apply_adam(rule, terms, piece, width);
    case RuleKind::Lars: return apply_lars(rule, terms, piece, width);
    case RuleKind::Lamb: return apply_lamb(rule, terms, piece, width);
  }
}

}  // namespace shoal
