// The loops over models that meet, over n numbers each. Everything here is bound by memory: a loop
// does all it can while it passes.
#pragma once

#include <cstddef>

namespace shoal {

// m <- scale a, or scale (a + b) where there is a b.
void mean_of(float* m, const float* a, const float* b, float scale, std::size_t n);
// w <- w + m - copied
void add_difference(float* w, const float* m, const float* copied, std::size_t n);
// x <- a x + b y
void mix(float* x, float a, const float* y, float b, std::size_t n);

// Block momentum (block.cc): from the mean m of all models to what all go on with, in m and W.
struct BlockRates {
  float eta_b;
  float zeta;
  bool nesterov;
};
void block_step(float* m, float* W, float* D, BlockRates rates, std::size_t n);

// Elastic averaging (elastic.cc).
// d <- w - c;  c <- c + beta d
void pull_center(const float* w, float* c, float* d, float beta, std::size_t n);
// The same, and w <- w - alpha d.
void pull_both(float* w, float* c, float alpha, float beta, std::size_t n);
// In step, m being the mean of all models and `sent` what this one was:
// w <- w - alpha (sent - c);  c <- c + beta (m - c)
void move_by_mean(float* w, float* c, const float* m, const float* sent, float alpha, float beta,
                  std::size_t n);

}  // namespace shoal
