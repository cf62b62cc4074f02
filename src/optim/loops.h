// The loops of the rules over one piece of one tensor. Private to src/optim; update.cc cuts the
// pieces and calls them. No loop writes the gradient.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/wide.h"
#include "optim/rule.h"

namespace shoal {

struct Piece {
  float* w = nullptr;
  const float* g = nullptr;      // summed over samples
  std::array<float*, 2> slot{};  // as many as the rule has
  std::size_t n = 0;
  const float* more = nullptr;  // another term of the gradient, added to g; or null
  // The state before the step: w and slot themselves, or other memory.
  const float* from_w = nullptr;
  std::array<const float*, 2> from_slot{};
};

// Equal for all elements of a piece.
struct Terms {
  double eta = 0;
  std::uint64_t t = 1;
  double scale = 1;  // of the summed gradient: 1/B, or less if it is clipped
  double decay = 0;  // weight decay; 0 if the tensor has none
  double ratio = 1;  // LARS, LAMB: the tensor's factor of eta
};

// Runs loop(n, g), where g(i) is element i of the gradient. The rule's own loop adds two terms: in
// a separate pass half of the memory streams would wait, and then the others.
template <class Loop>
void run_rule(Width width, const Piece& piece, const Loop& loop) {
  const float* const g = piece.g;
  const float* const more = piece.more;
  if (more == nullptr) {
    run_wide(width, piece.n, [=, &loop](std::size_t n) SHOAL_INLINE {
      loop(n, [g](std::size_t i) SHOAL_INLINE { return g[i]; });
    });
  } else {
    run_wide(width, piece.n, [=, &loop](std::size_t n) SHOAL_INLINE {
      loop(n, [g, more](std::size_t i) SHOAL_INLINE { return g[i] + more[i]; });
    });
  }
}

// sgd, momentum, nesterov.
void apply_sgd(const Rule& rule, const Terms& terms, const Piece& piece, Width width);
// adagrad, rmsprop.
void apply_adaptive(const Rule& rule, const Terms& terms, const Piece& piece, Width width);
// adam, adamw.
void apply_adam(const Rule& rule, const Terms& terms, const Piece& piece, Width width);
// REQUIRES for the next two: no further term of g, because their norms need the sum.
void apply_lars(const Rule& rule, const Terms& terms, const Piece& piece, Width width);
void apply_lamb(const Rule& rule, const Terms& terms, const Piece& piece, Width width);
// The user's rule.
void apply_own(const Rule& rule, const Terms& terms, const Piece& piece);
// The loop of the rule's kind.
void apply_rule(const Rule& rule, const Terms& terms, const Piece& piece, Width width);

// REQUIRES: at least two terms. sum[i] = terms[0][at + i] + terms[1][at + i] + .., in this order,
// for all elements of `sum`.
void add_up(std::span<const float* const> terms, std::size_t at, std::size_t count, float* sum,
            Width width);

// Sums of squares in double precision.
struct Squares {
  double first = 0;
  double second = 0;
};
double squares_of(const float* x, std::size_t n, Width width);
Squares squares_of(const float* x, const float* y, std::size_t n, Width width);
// Of w, and of the direction of LAMB; changes nothing.
Squares measure_lamb(const Rule& rule, const Terms& terms, const Piece& piece, Width width);

// LARS and LAMB: the factor of a step, for parameters of norm |w| and a direction of norm |u|.
double lars_ratio(const Rule& rule, double decay, double w_norm, double g_norm);
double lamb_ratio(double w_norm, double u_norm);

}  // namespace shoal
