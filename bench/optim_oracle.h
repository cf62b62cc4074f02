// One step of each optimizer as in its paper: one parameter at a time, in double precision, not
// optimized. Tests and benchmarks verify the fused loops against it.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "optim/update.h"

namespace shoal {

struct NaiveState {
  std::vector<double> w;
  std::vector<double> a;  // slot 0
  std::vector<double> b;  // slot 1
};

inline double naive_norm(const std::vector<double>& x, std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

// The direction of Adam and LAMB; updates the moments.
inline double naive_adam(const Rule& rule, double t, double d, double& m, double& v) {
  m = rule.beta1 * m + (1 - rule.beta1) * d;
  v = rule.beta2 * v + (1 - rule.beta2) * d * d;
  const double m_hat = m / (1 - std::pow(rule.beta1, t));
  const double v_hat = v / (1 - std::pow(rule.beta2, t));
  return m_hat / (std::sqrt(v_hat) + rule.epsilon);
}

// One tensor; g is the mean gradient, clipped already.
inline void naive_tensor(const Rule& rule, const UpdateStep& step, NaiveState& s,
                         const std::vector<double>& g, const Segment& tensor) {
  const std::size_t from = tensor.at.value();
  const std::size_t to = from + tensor.n.value();
  const double mu = rule.momentum;
  const double decay = tensor.decay ? rule.weight_decay : 0;
  const auto t = static_cast<double>(step.t);
  const double w_norm = naive_norm(s.w, from, to);
  const double g_norm = naive_norm(g, from, to);
  double lars = 1;
  if (tensor.adapt && w_norm > 0 && g_norm > 0)
    lars = rule.trust * w_norm / (g_norm + decay * w_norm);
  std::vector<double> u(to);
  for (std::size_t i = from; i < to; ++i) {
    double& w = s.w[i];
    double& a = s.a[i];
    double& b = s.b[i];
    const double d = g[i] + decay * w;
    switch (rule.kind) {
      case RuleKind::Sgd: w -= step.eta * d; break;
      case RuleKind::Momentum:
        a = mu * a + d;
        w -= step.eta * a;
        break;
      case RuleKind::Nesterov:
        a = mu * a + d;
        w -= step.eta * (d + mu * a);
        break;
      case RuleKind::Adagrad:
        a += d * d;
        w -= step.eta * d / (std::sqrt(a) + rule.epsilon);
        break;
      case RuleKind::Rmsprop:
        a = rule.alpha * a + (1 - rule.alpha) * d * d;
        b = mu * b + d / (std::sqrt(a) + rule.epsilon);
        w -= step.eta * b;
        break;
      case RuleKind::Adam: w -= step.eta * naive_adam(rule, t, d, a, b); break;
      case RuleKind::AdamW:
        w -= step.eta * decay * w;
        w -= step.eta * naive_adam(rule, t, g[i], a, b);
        break;
      case RuleKind::Lars:
        a = mu * a + step.eta * lars * d;
        w -= a;
        break;
      case RuleKind::Lamb: u[i] = naive_adam(rule, t, g[i], a, b) + decay * w; break;
    }
  }
  if (rule.kind != RuleKind::Lamb) return;
  const double u_norm = naive_norm(u, from, to);
  const double ratio = tensor.adapt && w_norm > 0 && u_norm > 0 ? w_norm / u_norm : 1;
  for (std::size_t i = from; i < to; ++i) s.w[i] -= step.eta * ratio * u[i];
}

// All tensors; g is summed over samples.
inline void naive_update(const Rule& rule, const UpdateStep& step, NaiveState& s,
                         std::vector<double> g, std::span<const Segment> tensors) {
  for (double& x : g) x /= step.samples;
  const double by = rule.clip_norm / (naive_norm(g, 0, g.size()) + 1e-6);
  if (rule.clip_norm > 0 && by < 1)
    for (double& x : g) x *= by;
  for (const Segment& tensor : tensors) naive_tensor(rule, step, s, g, tensor);
}

}  // namespace shoal
