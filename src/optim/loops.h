// The loops of the rules, over one piece of one tensor. Private to src/optim; update.cc decides
// what a piece is and calls them. No loop writes the gradient.
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
  const float* more = nullptr;  // of the gradient, to be added to g; or nothing
  // The state before the step: w and slot themselves, or elsewhere.
  const float* from_w = nullptr;
  std::array<const float*, 2> from_slot{};
};

// What is the same for all elements of a piece.
struct Terms {
  double eta = 0;
  std::uint64_t t = 1;
  double scale = 1;  // of the summed gradient: 1/B, or less where it is clipped
  double decay = 0;  // weight decay; 0 where the tensor has none
  double ratio = 1;  // LARS, LAMB: the tensor's own factor of eta
};

// Runs loop(n, g), where g(i) is element i of the gradient. A sum of two is formed by the rule's
// own loop: with a pass before it half of the memory's streams would wait, and then the others.
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
// REQUIRES of the next two: nothing more is added to g, since their norms need the sum.
void apply_lars(const Rule& rule, const Terms& terms, const Piece& piece, Width width);
void apply_lamb(const Rule& rule, const Terms& terms, const Piece& piece, Width width);
// The user's own.
void apply_own(const Rule& rule, const Terms& terms, const Piece& piece);
// Whichever the rule names.
void apply_rule(const Rule& rule, const Terms& terms, const Piece& piece, Width width);

// REQUIRES: at least two terms. sum[i] = terms[0][at + i] + terms[1][at + i] + .., in this order,
// for so many elements.
void add_up(std::span<const float* const> terms, std::size_t at, std::size_t count, float* sum,
            Width width);

// Sums of squares in double precision.
struct Squares {
  double first = 0;
  double second = 0;
};
double squares_of(const float* x, std::size_t n, Width width);
Squares squares_of(const float* x, const float* y, std::size_t n, Width width);
// Of w, and of the direction that LAMB would take; changes nothing.
Squares measure_lamb(const Rule& rule, const Terms& terms, const Piece& piece, Width width);

// Of LARS and LAMB: what a step of |w| and a direction of |u| is scaled by.
double lars_ratio(const Rule& rule, double decay, double w_norm, double g_norm);
double lamb_ratio(double w_norm, double u_norm);

}  // namespace shoal
