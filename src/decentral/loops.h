// The loops over models that meet, over n numbers each. All are bound by memory bandwidth, so that
// each loop does all its work in one pass.
#pragma once

#include <cstddef>

namespace shoal {

// Models that have met: their mean is scale * a, or scale * (a + b) if there is a b.
struct Met {
  float* w;             // this worker's model
  const float* copied;  // its value when the models met; null: w has not changed since
  const float* a;
  const float* b;
  float scale;
  float* agreed;  // where to write the new common model too; or null

  Met from(std::size_t at) const;
};

// w <- w + m - copied, with the mean m; or w <- m if there is no copy.
void move_to_mean(const Met& met, std::size_t n);
// x <- a x + b y
void mix(float* x, float a, const float* y, float b, std::size_t n);

// Block momentum (block.cc): the same, with the new W in place of m.
struct BlockRates {
  float eta_b;
  float zeta;
  bool nesterov;
};
void move_to_block(const Met& met, float* W, float* D, BlockRates rates, std::size_t n);

// Elastic averaging (elastic.cc).
// d <- w - c;  c <- c + beta d
void pull_center(const float* w, float* c, float* d, float beta, std::size_t n);
// Both models: the same, and w <- w - alpha d.
void pull_both(float* w, float* c, float alpha, float beta, std::size_t n);
// Synchronous, with the mean m of all models: w <- w - alpha (w - c), with the w and c of the
// meeting; c <- c + beta (m - c)
void move_in_step(const Met& met, float* c, float alpha, float beta, std::size_t n);

}  // namespace shoal
