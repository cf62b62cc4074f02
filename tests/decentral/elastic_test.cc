// Properties of block momentum and elastic averaging beyond their oracles (decentral_test.cc).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "decentral/decentral_job.h"

namespace shoal {
namespace {

// CNTK's scaling: zeta = P (1 - eta_b).
TEST(Bmuf, CntksScalingAtItsMomentumIsARateOfOne) {
  const auto p = DecentralJob::like("bmuf").as<BlockSettings>();
  for (const std::uint64_t P : {2U, 4U, 7U, 32U}) {
    const double eta_b = block_momentum(kAuto, P);
    EXPECT_DOUBLE_EQ(eta_b, 1 - 1 / static_cast<double>(P));
    EXPECT_NEAR(static_cast<double>(P) * (1 - eta_b), 1, 1e-12);
  }
  EXPECT_EQ(p.block_rate, 1);
  EXPECT_LT(p.block_momentum, 0) << "by the number of workers";
}

TEST(Eamsgd, InStepEqualsAnOracleWithNesterovsMomentum) {
  DecentralJob job = DecentralJob::like("eamsgd");
  EXPECT_EQ(find_system("eamsgd").optimizer, "nesterov");
  job.task.rule = default_rule(RuleKind::Nesterov);
  job.task.eta = 0.02;
  job.set("pace", "sync");
  job.set("local-steps", 3);
  job.run(4);
  const auto mu = static_cast<float>(job.task.rule.momentum);
  const auto alpha = static_cast<float>(0.9 / 4);
  Models w = job.initial(4);
  Models v = w;
  std::vector<float> c = w[0];
  DecentralJob::Steps steps(job);
  for (std::uint64_t t = 0; const auto g = steps.gradients(w); ++t) {
    const std::vector<float> before = c;
    for (std::size_t r = 0; r < 4 && t % 3 == 0; ++r)
      for (std::size_t i = 0; i < c.size(); ++i) {
        const float d = w[r][i] - before[i];
        w[r][i] -= alpha * d;
        c[i] += alpha * d;
      }
    Models step = *g;
    for (std::size_t r = 0; r < 4; ++r)
      for (std::size_t i = 0; i < c.size(); ++i) {
        v[r][i] = mu * v[r][i] + (*g)[r][i];
        step[r][i] += mu * v[r][i];
      }
    job.descend(w, step);
  }
  for (std::uint32_t r = 0; r < 4; ++r) DecentralJob::expect_near(job.models[NodeId(r)], w[r]);
  DecentralJob::expect_near(job.results[NodeId(0)], c);
}

TEST(Easgd, AtTheirOwnPaceTwoModelsGoOverTheNetworkInTauSteps) {
  const auto bytes = [](std::uint32_t tau) {
    DecentralJob job = DecentralJob::like("easgd");
    job.problem.dimensions = Elements(5000);
    job.set("local-steps", tau);
    job.run(2);
    return static_cast<double>(job.sent[NodeId(0)].value() + job.sent[NodeId(1)].value());
  };
  // 20 steps each; the worker with the center sends nothing, the other asks and is answered.
  const double model = 5000 * 4;
  EXPECT_NEAR(bytes(1) - bytes(20), 19 * 2 * model, 0.05 * 19 * 2 * model);
}

}  // namespace
}  // namespace shoal
