// The loops over models that meet, over n numbers each. Everything here is bound by memory: a loop
// does all it can while it passes.
#pragma once

#include <cstddef>

namespace shoal {

// Models that have met: the mean of all is scale a, or scale (a + b) where there is a b.
struct Met {
  float* w;             // the own one, which
  const float* copied;  // was this when they met; null: it still is
  const float* a;
  const float* b;
  float scale;
  float* agreed;  // where what all go on with is wanted, too; or null

  Met from(std::size_t at) const;
};

// w <- w + m - copied, m being the mean; where nothing was copied, w <- m.
void move_to_mean(const Met& met, std::size_t n);
// x <- a x + b y
void mix(float* x, float a, const float* y, float b, std::size_t n);

// Block momentum (block.cc): the same, m being what becomes of W.
struct BlockRates {
  float eta_b;
  float zeta;
  bool nesterov;
};
void move_to_block(const Met& met, float* W, float* D, BlockRates rates, std::size_t n);

// Elastic averaging (elastic.cc).
// d <- w - c;  c <- c + beta d
void pull_center(const float* w, float* c, float* d, float beta, std::size_t n);
// The same, and w <- w - alpha d.
void pull_both(float* w, float* c, float alpha, float beta, std::size_t n);
// In step, m being the mean of all models: w <- w - alpha (w - c) of when they met;
// c <- c + beta (m - c)
void move_in_step(const Met& met, float* c, float alpha, float beta, std::size_t n);

}  // namespace shoal
