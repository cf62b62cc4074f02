#include <gtest/gtest.h>

#include <array>

#include "codec/powersgd_step.h"
#include "codec_cases.h"

namespace shoal {
namespace {

double norm_of(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(sum);
}

struct Factors {
  explicit Factors(const LowRank& shape) : p(shape.p_size()), q(shape.q_size()) {
    powersgd_start(shape, q, {Seed(1), 0, 0});
  }
  std::vector<float> p, q;
};

// One step; returns the residual.
std::vector<float> step(const LowRank& shape, std::vector<float> matrix, Factors& f,
                        Width width = widest()) {
  powersgd_project(shape, matrix, f.q, f.p, width);
  powersgd_orthogonalize(shape, f.p);
  powersgd_back(shape, matrix, f.p, f.q, width);
  powersgd_add(shape, f.p, f.q, -1, matrix, width);
  return matrix;
}

std::vector<float> of_rank(std::size_t rows, std::size_t columns, std::size_t rank) {
  const std::vector<float> a = normal_numbers(rows * rank, 1, 2);
  const std::vector<float> b = normal_numbers(columns * rank, 1, 3);
  std::vector<float> matrix(rows * columns);
  powersgd_add({rows, columns, rank}, a, b, 1, matrix);
  return matrix;
}

void expect_orthonormal(const LowRank& shape, std::span<const float> p) {
  for (std::size_t a = 0; a < shape.rank; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double common = 0;
      for (std::size_t i = 0; i < shape.rows; ++i)
        common +=
            static_cast<double>(p[a * shape.rows + i]) * static_cast<double>(p[b * shape.rows + i]);
      ASSERT_NEAR(common, a == b ? 1 : 0, 1e-5) << a << " " << b;
    }
  }
}

TEST(Powersgd, IsExactAtFullRank) {
  for (const auto& [rows, columns] :
       std::vector<std::pair<std::size_t, std::size_t>>{{7, 40}, {40, 7}, {33, 65}}) {
    const LowRank shape{rows, columns, std::min(rows, columns)};
    const std::vector<float> matrix = normal_numbers(rows * columns);
    Factors f(shape);
    EXPECT_LT(norm_of(step(shape, matrix, f)), 1e-5 * norm_of(matrix)) << rows;
    expect_orthonormal(shape, f.p);
  }
}

TEST(Powersgd, IsExactForAMatrixOfItsRank) {
  const LowRank shape{100, 70, 3};
  const std::vector<float> matrix = of_rank(100, 70, 3);
  Factors f(shape);
  EXPECT_LT(norm_of(step(shape, matrix, f)), 1e-5 * norm_of(matrix));
}

TEST(Powersgd, ProjectsAndMultipliesAsAMatrixDoes) {
  const LowRank shape{2, 3, 1};
  const std::vector<float> matrix = {1, 2, 3, 4, 5, 6}, q = {1, 0, -1};
  std::vector<float> p(2), back(3), sum(6, 1.0F);
  powersgd_project(shape, matrix, q, p);
  EXPECT_EQ(p, (std::vector<float>{-2, -2}));
  powersgd_back(shape, matrix, p, back);
  EXPECT_EQ(back, (std::vector<float>{-10, -14, -18}));
  powersgd_add(shape, p, q, 0.5F, sum);
  EXPECT_EQ(sum, (std::vector<float>{0, 1, 2, 0, 1, 2}));
}

TEST(Powersgd, KeepingQFindsTheBestDirections) {
  // A strong part of rank 2 plus noise: the residual approaches the noise.
  std::vector<float> matrix = of_rank(60, 80, 2);
  const std::vector<float> noise = normal_numbers(matrix.size(), 0.1, 9);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] += noise[i];
  const LowRank shape{60, 80, 2};
  Factors f(shape);
  for (int i = 0; i < 10; ++i) step(shape, matrix, f);
  EXPECT_LT(norm_of(step(shape, matrix, f)), norm_of(noise));
}

TEST(Powersgd, ErrorFeedbackSendsEverythingInTheEnd) {
  const std::vector<float> gradient = normal_numbers(30 * 20);
  const LowRank shape{30, 20, 2};
  Factors f(shape);
  std::vector<float> sum(gradient.size()), rest(gradient.size());
  constexpr int kSteps = 400;
  for (int i = 0; i < kSteps; ++i) {
    std::vector<float> matrix = gradient;
    for (std::size_t j = 0; j < matrix.size(); ++j) matrix[j] += rest[j];
    rest = step(shape, matrix, f);
    powersgd_add(shape, f.p, f.q, 1.0F / kSteps, sum);
  }
  for (std::size_t j = 0; j < sum.size(); ++j) sum[j] -= gradient[j];
  EXPECT_LT(norm_of(sum), 0.1 * norm_of(gradient));
}

TEST(Powersgd, FactorsOfSeveralWorkersAddUp) {
  const LowRank shape{20, 30, 2};
  const std::vector<float> x = normal_numbers(600, 1, 1), y = normal_numbers(600, 1, 2);
  std::vector<float> both(600);
  for (std::size_t i = 0; i < 600; ++i) both[i] = x[i] + y[i];
  const Factors f(shape);
  std::vector<float> of_x(shape.p_size()), of_y(of_x), of_both(of_x);
  powersgd_project(shape, x, f.q, of_x);
  powersgd_project(shape, y, f.q, of_y);
  powersgd_project(shape, both, f.q, of_both);
  for (std::size_t i = 0; i < of_x.size(); ++i) ASSERT_NEAR(of_x[i] + of_y[i], of_both[i], 1e-4);
}

TEST(Powersgd, DependentColumnsBecomeNewDirections) {
  const LowRank shape{12, 10, 4};
  for (const std::size_t rank : {0U, 1U, 2U}) {
    const std::vector<float> matrix = rank == 0 ? std::vector<float>(120) : of_rank(12, 10, rank);
    Factors f(shape);
    const std::vector<float> rest = step(shape, matrix, f);
    expect_orthonormal(shape, f.p);
    EXPECT_LE(norm_of(rest), 1e-5 * norm_of(matrix)) << rank;
  }
}

TEST(Powersgd, AllWidthsGiveTheSameBits) {
  const LowRank shape{37, 101, 3};
  const std::vector<float> matrix = normal_numbers(37 * 101);
  Factors a(shape), b(shape);
  EXPECT_EQ(step(shape, matrix, a), step(shape, matrix, b, Width::Plain));
  EXPECT_EQ(a.p, b.p);
  EXPECT_EQ(a.q, b.q);
}

TEST(Powersgd, SmallAndFlatTensorsStayDense) {
  using Dimensions = std::vector<std::uint64_t>;
  EXPECT_FALSE(powersgd_shape(Dimensions{100}, 2));
  EXPECT_FALSE(powersgd_shape(Dimensions{}, 2));
  EXPECT_FALSE(powersgd_shape(Dimensions{4, 4}, 2)) << "2 (4 + 4) values are not fewer than 16";
  const auto convolution = powersgd_shape(Dimensions{32, 16, 3, 3}, 2);
  ASSERT_TRUE(convolution);
  EXPECT_EQ(convolution->rows, 32U);
  EXPECT_EQ(convolution->columns, 144U);
  EXPECT_EQ(convolution->p_size() + convolution->q_size(), 2U * (32 + 144));
}

}  // namespace
}  // namespace shoal
