// The steps of powersgd (codec/powersgd.h) on one matrix.
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
