// powersgd: a gradient matrix M as P Q^T of low rank, by one step of power iteration. Vogels,
// Karimireddy, Jaggi, "PowerSGD: practical low-rank gradient compression for distributed
// optimization", NeurIPS 2019, arXiv:1905.13727.
//
// Both factors are linear in M, so all-reduce adds them up. The caller keeps Q from step to step,
// and the rest. A step, with M the gradient and the rest of before:
//
//   powersgd_project(shape, M, Q, P);        P = M Q          all-reduce P, take the mean
//   powersgd_orthogonalize(shape, P);
//   powersgd_back(shape, M, P, Q);           Q = M^T P        all-reduce Q, take the mean
//   powersgd_add(shape, P, Q, 1, gradient);  the mean gradient, about
//   powersgd_add(shape, P, Q, -1, M);        what is left is the rest
//
// Sent are r (m + n) values instead of m n. At full rank P Q^T is M. Matrices lie row by row;
// factors column by column, so that each of their r vectors is contiguous.
// Cost: each of the steps passes over M once. Sums have the same order for every width.
// Deviation: a column of P that depends on those before it (M has a lower rank, or is zero) becomes
// a unit vector orthogonal to them, so that Q finds directions again later; the paper leaves it.
#pragma once

#include <optional>

#include "base/wide.h"
#include "codec/codec.h"

namespace shoal {

struct LowRank {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t rank = 0;  // at most rows and columns

  std::size_t p_size() const { return rows * rank; }
  std::size_t q_size() const { return columns * rank; }
};

// A tensor as a matrix: its first dimension by all others. None where it would not be smaller, as
// with biases: such tensors are sent dense.
std::optional<LowRank> powersgd_shape(std::span<const std::uint64_t> dimensions,
                                      std::uint32_t rank);

// Q of the first step: normal numbers, the same for all workers with the same key.
void powersgd_start(const LowRank& shape, std::span<float> q, const DrawKey& key);

// REQUIRES, for all: sizes as the shape says; nothing overlaps; all finite.
void powersgd_project(const LowRank& shape, std::span<const float> matrix, std::span<const float> q,
                      std::span<float> p, Width width = widest());
// The columns of P become orthonormal, by the modified method of Gram and Schmidt, in double
// precision.
void powersgd_orthogonalize(const LowRank& shape, std::span<float> p);
void powersgd_back(const LowRank& shape, std::span<const float> matrix, std::span<const float> p,
                   std::span<float> q, Width width = widest());
// matrix += scale P Q^T.
void powersgd_add(const LowRank& shape, std::span<const float> p, std::span<const float> q,
                  float scale, std::span<float> matrix, Width width = widest());

}  // namespace shoal
