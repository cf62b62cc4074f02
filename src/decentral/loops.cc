#include "decentral/loops.h"

#include "base/wide.h"

namespace shoal {
namespace {

// Calls f(i, mean of element i) for every i.
template <class F>
void for_means(const Met& met, std::size_t n, const F& f) {
  const float* const a = met.a;
  const float* const b = met.b;
  const float scale = met.scale;
  if (b == nullptr) {
    run_wide(widest(), n, [=, &f](std::size_t count) SHOAL_INLINE {
      SHOAL_APART
      for (std::size_t i = 0; i < count; ++i) f(i, scale * a[i]);
    });
  } else {
    run_wide(widest(), n, [=, &f](std::size_t count) SHOAL_INLINE {
      SHOAL_APART
      for (std::size_t i = 0; i < count; ++i) f(i, scale * (a[i] + b[i]));
    });
  }
}

// for_means, and moves w to f's value.
template <class F>
void move_to(const Met& met, std::size_t n, const F& f) {
  float* const w = met.w;
  const float* const copied = met.copied;
  if (copied == nullptr) {
    for_means(met, n, [=, &f](std::size_t i, float m) SHOAL_INLINE { w[i] = f(i, m); });
  } else {
    for_means(met, n,
              [=, &f](std::size_t i, float m) SHOAL_INLINE { w[i] += f(i, m) - copied[i]; });
  }
}

// move_to, and writes the value to `agreed` too, if there is one.
template <class F>
void move_and_tell(const Met& met, std::size_t n, const F& f) {
  float* const agreed = met.agreed;
  if (agreed == nullptr) return move_to(met, n, f);
  move_to(met, n, [=, &f](std::size_t i, float m) SHOAL_INLINE { return agreed[i] = f(i, m); });
}

}  // namespace

Met Met::from(std::size_t at) const {
  const auto moved = [at](auto* p) { return p == nullptr ? p : p + at; };
  return {moved(w), moved(copied), moved(a), moved(b), scale, moved(agreed)};
}

void move_to_mean(const Met& met, std::size_t n) {
  move_and_tell(met, n, [](std::size_t, float m) SHOAL_INLINE { return m; });
}

void mix(float* x, float a, const float* y, float b, std::size_t n) {
  run_wide(widest(), n, [=](std::size_t count) SHOAL_INLINE {
    for (std::size_t i = 0; i < count; ++i) x[i] = a * x[i] + b * y[i];
  });
}

void move_to_block(const Met& met, float* W, float* D, BlockRates rates, std::size_t n) {
  const float eta_b = rates.eta_b;
  const float zeta = rates.zeta;
  if (rates.nesterov) {
    move_and_tell(met, n, [=](std::size_t i, float m) SHOAL_INLINE {
      const float G = m - W[i];
      D[i] = eta_b * D[i] + zeta * G;
      return W[i] += zeta * G + eta_b * D[i];
    });
  } else {
    move_and_tell(met, n, [=](std::size_t i, float m) SHOAL_INLINE {
      const float G = m - W[i];
      D[i] = eta_b * D[i] + zeta * G;
      return W[i] += D[i];
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

void move_in_step(const Met& met, float* c, float alpha, float beta, std::size_t n) {
  float* const w = met.w;
  const float* const sent = met.copied == nullptr ? w : met.copied;
  for_means(met, n, [=](std::size_t i, float m) SHOAL_INLINE {
    const float before = c[i];
    c[i] += beta * (m - before);
    w[i] -= alpha * (sent[i] - before);
  });
}

}  // namespace shoal
