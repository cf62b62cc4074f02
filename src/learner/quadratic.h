// A problem with a known solution: one parabola per sample, all with the same curvature.
//
//   f_i(w) = 1/2 sum_j lambda_j (w_j - w*_j - sigma z_ij)^2,     z_ij = +-1,  z_(2k+1) = -z_(2k)
//
// The optimum over an even number of samples is exactly w*. lambda runs from 1 down to 1/kappa,
// evenly in its logarithm, so kappa is the condition number. Thousands of steps take milliseconds,
// which suits the swarm.
#pragma once

#include <cstdint>
#include <vector>

#include "learner/learner.h"

namespace shoal {

struct QuadraticOptions {
  Seed seed{};
  Elements dimensions{64};
  std::uint32_t buckets = 3;
  double condition = 100;  // kappa
  double noise = 1;        // sigma
  std::uint64_t held_out = 0;
  // State that forward passes change, like that of batch norm: each pass adds 1 to a buffer, which
  // replicas average, and to a counter.
  bool statistics = false;
};

class QuadraticLearner final : public Learner {
 public:
  explicit QuadraticLearner(QuadraticOptions options);

  const Layout& layout() const override { return layout_; }
  Cuts pieces() const override;
  bool waits_at_gates() const override { return true; }
  Substance substance() const override { return Substance::Real; }
  void initialize(Range w) const override;  // zero
  Task<void> gradient(Env& env, Range w, GradientTarget target, Portion portion,
                      Channel<Ready>& ready, Score& score) override;
  Task<Score> evaluate(Env& env, Range w, std::uint64_t from, std::uint64_t to) override;
  std::uint64_t held_out() const override { return options_.held_out; }
  std::unique_ptr<Lane> lane(Range w, Portion portion, double eta, Score& score) override;

  std::span<const float> optimum() const { return optimum_; }
  std::span<const float> curvature() const { return lambda_; }
  // The loss of the whole problem at w, without noise; 0 at the optimum.
  double loss(std::span<const float> w) const;
  // Adds the gradients of `samples` at w to g, for elements [from, from + g.size()).
  void add_gradients(std::span<const float> w, std::span<const SampleId> samples, std::size_t from,
                     std::span<float> g) const;

 private:
  QuadraticOptions options_;
  Layout layout_;
  std::vector<float> optimum_;
  std::vector<float> lambda_;
};

}  // namespace shoal
