#include "codec/powersgd.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "codec/powersgd_step.h"

namespace shoal {
namespace {

void require_sizes(const LowRank& shape, std::span<const float> matrix, std::span<const float> p,
                   std::span<const float> q) {
  SHOAL_CHECK_EQ(matrix.size(), shape.rows * shape.columns);
  SHOAL_CHECK_EQ(p.size(), shape.p_size());
  SHOAL_CHECK_EQ(q.size(), shape.q_size());
}

SHOAL_INLINE inline float dot(const float* a, const float* b, std::size_t n) {
  float lane[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) lane[j] += a[i + j] * b[i + j];
  for (std::size_t j = 0; i < n; ++i, ++j) lane[j] += a[i] * b[i];
  float sum = 0;
  for (const float x : lane) sum += x;
  return sum;
}

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Takes what `column` has in common with the others out of it; twice, since once leaves what
// rounding made of nearly parallel ones.
void make_orthogonal(std::vector<double>& column, std::span<const std::vector<double>> others) {
  for (int time = 0; time < 2; ++time) {
    for (const std::vector<double>& other : others) {
      const double common = inner(column, other);
      for (std::size_t i = 0; i < column.size(); ++i) column[i] -= common * other[i];
    }
  }
}

void divide(std::vector<double>& column, double by) {
  for (double& x : column) x /= by;
}

// Orthogonal to all others: made of the unit vector that has least in common with them.
std::vector<double> fresh_direction(std::size_t rows, std::span<const std::vector<double>> others) {
  std::size_t best = 0;
  double least = 2;
  for (std::size_t i = 0; i < rows; ++i) {
    double common = 0;
    for (const std::vector<double>& other : others) common += other[i] * other[i];
    if (common < least) best = i;
    least = std::min(least, common);
  }
  std::vector<double> column(rows);
  column[best] = 1;
  make_orthogonal(column, others);
  divide(column, std::sqrt(inner(column, column)));
  return column;
}

}  // namespace

std::optional<LowRank> powersgd_shape(std::span<const std::uint64_t> dimensions,
                                      std::uint32_t rank) {
  if (dimensions.size() < 2) return std::nullopt;
  LowRank shape{.rows = dimensions[0], .columns = 1};
  for (const std::uint64_t n : dimensions.subspan(1)) shape.columns *= n;
  shape.rank = std::min({std::size_t{rank}, shape.rows, shape.columns});
  if (shape.p_size() + shape.q_size() >= shape.rows * shape.columns) return std::nullopt;
  return shape;
}

void powersgd_start(const LowRank& shape, std::span<float> q, const DrawKey& key) {
  SHOAL_CHECK_EQ(q.size(), shape.q_size());
  Random random(key.seed, Purpose::Encode, key.a, key.b);
  for (float& x : q) x = static_cast<float>(random.normal());
}

void powersgd_project(const LowRank& shape, std::span<const float> matrix, std::span<const float> q,
                      std::span<float> p, Width width) {
  require_sizes(shape, matrix, p, q);
  run_wide(width, shape.columns, [&](std::size_t n) SHOAL_INLINE {
    for (std::size_t i = 0; i < shape.rows; ++i)
      for (std::size_t k = 0; k < shape.rank; ++k)
        p[k * shape.rows + i] = dot(matrix.data() + i * n, q.data() + k * n, n);
  });
}

void powersgd_orthogonalize(const LowRank& shape, std::span<float> p) {
  SHOAL_CHECK_EQ(p.size(), shape.p_size());
  constexpr double kDependent = 1e-6;  // of its length, what rounding of floats leaves
  std::vector<std::vector<double>> columns;
  for (std::size_t k = 0; k < shape.rank; ++k) {
    const std::span<float> out = p.subspan(k * shape.rows, shape.rows);
    std::vector<double> column(out.begin(), out.end());
    const double before = std::sqrt(inner(column, column));
    make_orthogonal(column, columns);
    const double length = std::sqrt(inner(column, column));
    if (length > kDependent * before) {
      divide(column, length);
    } else {
      column = fresh_direction(shape.rows, columns);
    }
    std::ranges::transform(column, out.begin(), [](double x) { return static_cast<float>(x); });
    columns.push_back(std::move(column));
  }
}

void powersgd_back(const LowRank& shape, std::span<const float> matrix, std::span<const float> p,
                   std::span<float> q, Width width) {
  require_sizes(shape, matrix, p, q);
  std::ranges::fill(q, 0.0F);
  run_wide(width, shape.columns, [&](std::size_t n) SHOAL_INLINE {
    for (std::size_t i = 0; i < shape.rows; ++i) {
      const float* const row = matrix.data() + i * n;
      for (std::size_t k = 0; k < shape.rank; ++k) {
        const float factor = p[k * shape.rows + i];
        float* const to = q.data() + k * n;
        for (std::size_t j = 0; j < n; ++j) to[j] += factor * row[j];
      }
    }
  });
}

void powersgd_add(const LowRank& shape, std::span<const float> p, std::span<const float> q,
                  float scale, std::span<float> matrix, Width width) {
  require_sizes(shape, matrix, p, q);
  run_wide(width, shape.columns, [&](std::size_t n) SHOAL_INLINE {
    for (std::size_t i = 0; i < shape.rows; ++i) {
      float* const row = matrix.data() + i * n;
      for (std::size_t k = 0; k < shape.rank; ++k) {
        const float factor = scale * p[k * shape.rows + i];
        const float* const from = q.data() + k * n;
        for (std::size_t j = 0; j < n; ++j) row[j] += factor * from[j];
      }
    }
  });
}

}  // namespace shoal
