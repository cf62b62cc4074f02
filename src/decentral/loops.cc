#include "decentral/loops.h"

#include "base/wide.h"

namespace shoal {

void mean_of(float* m, const float* a, const float* b, float scale, std::size_t n) {
  if (b == nullptr) {
    run_wide(widest(), n, [=](std::size_t count) SHOAL_INLINE {
      for (std::size_t i = 0; i < count; ++i) m[i] = scale * a[i];
    });
  } else {
    run_wide(widest(), n, [=](std::size_t count) SHOAL_INLINE {
      for (std::size_t i = 0; i < count; ++i) m[i] = scale * (a[i] + b[i]);
    });
  }
}

void add_difference(float* w, const float* m, const float* copied, std::size_t n) {
  run_wide(widest(), n, [=](std::size_t count) SHOAL_INLINE {
    for (std::size_t i = 0; i < count; ++i) w[i] += m[i] - copied[i];
  });
}

void mix(float* x, float a, const float* y, float b, std::size_t n) {
  run_wide(widest(), n, [=](std::size_t count) SHOAL_INLINE {
    for (std::size_t i = 0; i < count; ++i) x[i] = a * x[i] + b * y[i];
  });
}

void block_step(float* m, float* W, float* D, BlockRates rates, std::size_t n) {
  const float eta_b = rates.eta_b;
  const float zeta = rates.zeta;
  if (rates.nesterov) {
    run_wide(widest(), n, [=](std::size_t count) SHOAL_INLINE {
      for (std::size_t i = 0; i < count; ++i) {
        const float G = m[i] - W[i];
        D[i] = eta_b * D[i] + zeta * G;
        W[i] += zeta * G + eta_b * D[i];
        m[i] = W[i];
      }
    });
  } else {
    run_wide(widest(), n, [=](std::size_t count) SHOAL_INLINE {
      for (std::size_t i = 0; i < count; ++i) {
        const float G = m[i] - W[i];
        D[i] = eta_b * D[i] + zeta * G;
        W[i] += D[i];
        m[i] = W[i];
      }
    });
  }
}

void pull_center(const float* w, float* c, float* d, float beta, std::size_t n) {
  run_wide(widest(), n, [=](std::size_t count) SHOAL_INLINE {
    for (std::size_t i = 0; i < count; ++i) {
      const float difference = w[i] - c[i];
      c[i] += beta * difference;
      d[i] = difference;
    }
  });
}

void pull_both(float* w, float* c, float alpha, float beta, std::size_t n) {
  run_wide(widest(), n, [=](std::size_t count) SHOAL_INLINE {
    for (std::size_t i = 0; i < count; ++i) {
      const float d = w[i] - c[i];
      c[i] += beta * d;
      w[i] -= alpha * d;
    }
  });
}

void move_by_mean(float* w, float* c, const float* m, const float* sent, float alpha, float beta,
                  std::size_t n) {
  run_wide(widest(), n, [=](std::size_t count) SHOAL_INLINE {
    for (std::size_t i = 0; i < count; ++i) {
      const float before = c[i];
      c[i] += beta * (m[i] - before);
      w[i] -= alpha * (sent[i] - before);
    }
  });
}

}  // namespace shoal
