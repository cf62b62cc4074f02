#include "app/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/predict.h"
#include "base/error.h"
#include "optim/rule.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

// Three tensors of 4 MB each; for a batch of 10 their gradients are ready after 20, 30 and 40 ms.
Calibration made_up() {
  Calibration c;
  c.key.machine = {"a fast one", 8, "1.2.3"};
  c.key.model = "toy";
  c.key.shape = "4 numbers";
  c.key.compute = "1 thread";
  c.key.optimizer = "sgd";
  c.key.encoding = "fp32";
  c.key.workers = 2;
  c.key.hosts = 2;
  c.tensors.assign(3, Elements(1'000'000));
  c.gradients = {{10, 0.038, {0.02, 0.03, 0.04}}};
  c.elements.reduce = 0.5;
  c.between = LinkModel{.latency = 100us, .bytes_per_s = 1e9};
  return c;
}

TEST(Calibration, IsWrittenAndReadAgain) {
  Calibration c = made_up();
  c.inside =
      LinkModel{.latency = 2us, .bytes_per_s = 5e9, .overhead = Bytes(64), .cpu_ns_per_byte = 0.3};
  c.jitter = 0.05;
  const Calibration read = parse_calibration(to_json(c), "calibration.json");
  EXPECT_EQ(read.key, c.key);
  EXPECT_EQ(read.tensors, c.tensors);
  EXPECT_EQ(read.gradients[0].ready, c.gradients[0].ready);
  EXPECT_EQ(read.jitter, 0.05);
  EXPECT_EQ(read.elements.reduce, 0.5);
  EXPECT_EQ(read.inside->overhead, Bytes(64));
  EXPECT_EQ(read.inside->cpu_ns_per_byte, 0.3);
  EXPECT_EQ(read.between->latency, Duration(100us));
  EXPECT_NEAR(read.slowdown(), 0.04 / 0.038, 1e-9);
}

TEST(Calibration, NonsenseIsRefused) {
  EXPECT_THROW(parse_calibration("{}", "f"), DataError);
  EXPECT_THROW(parse_calibration("no json", "f"), DataError);
  Calibration c = made_up();
  c.gradients[0].ready = {0.02, 0.01, 0.04};
  EXPECT_THROW(parse_calibration(to_json(c), "f"), DataError);
  c = made_up();
  c.gradients.push_back(c.gradients[0]);
  EXPECT_THROW(parse_calibration(to_json(c), "f"), DataError);
  c = made_up();
  c.cores = 0;
  EXPECT_THROW(parse_calibration(to_json(c), "f"), DataError);
}

TEST(Calibration, OfAnotherMachineSaysWhy) {
  const Calibration c = made_up();
  EXPECT_EQ(foreign(c, c.key.machine), "");
  EXPECT_THAT(foreign(c, {"a slow one", 8, "1.2.3"}), testing::HasSubstr("a slow one"));
  EXPECT_THAT(foreign(c, {"a fast one", 2, "1.2.3"}), testing::HasSubstr("8 cores"));
  EXPECT_THAT(foreign(c, {"a fast one", 8, "2.0.0"}), testing::HasSubstr("2.0.0"));
}

TEST(Calibration, TensorsMakeBuckets) {
  const CalibratedModel each = model_of(made_up(), 10, Bytes(1));
  ASSERT_EQ(each.buckets.size(), 3U);
  EXPECT_THAT(each.pace.backward, testing::ElementsAre(testing::DoubleEq(666'667), 1e6, 1e6));
  EXPECT_NEAR(each.pace.total(), 4e6, 2);  // ns a sample
  const CalibratedModel two = model_of(made_up(), 10, Bytes(5'000'000));
  EXPECT_THAT(two.buckets, testing::ElementsAre(Elements(2'000'000), Elements(1'000'000)));
  EXPECT_NEAR(two.pace.total(), each.pace.total(), 1e-6);
}

TEST(Calibration, BatchesInBetweenTakeTheirPart) {
  Calibration c = made_up();
  c.gradients.push_back({30, 0, {0.03, 0.05, 0.08}});
  EXPECT_NEAR(20 * model_of(c, 20, Bytes(1)).pace.total(), 0.06e9, 50);
  EXPECT_NEAR(40 * model_of(c, 40, Bytes(1)).pace.total(), 0.1e9, 50);
  EXPECT_NEAR(20 * model_of(made_up(), 20, Bytes(1)).pace.total(), 0.08e9, 50);
}

TEST(Calibration, HostsAreFilledInTurn) {
  Calibration c = made_up();
  c.jitter = 0.1;
  const Cluster cluster = cluster_of(c, 3, 1, 2);
  ASSERT_EQ(cluster.nodes.size(), 4U);
  EXPECT_EQ(cluster.nodes[1].host, HostId(0));
  EXPECT_EQ(cluster.nodes[2].host, HostId(1));
  EXPECT_EQ(cluster.nodes[3].role, Role::Server);
  EXPECT_EQ(cluster.stragglers.size(), 3U);
  EXPECT_EQ(cluster.hosts[0].nic.bytes_per_s, 1e9);
}

TrainPlan plan_of_two() {
  TrainPlan plan;
  plan.model = "toy";
  plan.samples = 10'000;
  plan.workers = plan.hosts = 2;
  plan.batch = 10;
  plan.global_batch = 20;
  plan.steps = Step(100'000);
  plan.rule = default_rule(RuleKind::Sgd);
  plan.recipe = InStep{.exchange = Exchange::Ring};
  return plan;
}

// No overlap with the gradient: two halves each way, and an addition.
TEST(Prediction, OfARingIsWhatTheFormulaSays) {
  TrainPlan plan = plan_of_two();
  std::get<InStep>(plan.recipe).order = SendOrder::Fifo;
  const Prediction p = predict(plan, made_up(), Bytes(100'000'000));
  const double ring = 2 * (100e-6 + 6e6 / 1e9) + 1.5e6 * 0.5e-9;
  EXPECT_NEAR(p.step_s, 0.04 + ring, 0.03 * (0.04 + ring));
  EXPECT_NEAR(p.bytes_per_step, 12e6, 1e4);
}

TEST(Prediction, WhatIsExchangedMeanwhileIsNotWaitedFor) {
  const Prediction apart = predict(plan_of_two(), made_up(), Bytes(100'000'000));
  const Prediction overlapped = predict(plan_of_two(), made_up(), Bytes(1));
  EXPECT_LT(overlapped.step_s, apart.step_s - 0.006);
}

TEST(Prediction, IsTheSameTwice) {
  Calibration c = made_up();
  c.jitter = 0.1;
  const Prediction a = predict(plan_of_two(), c, Bytes(1));
  const Prediction b = predict(plan_of_two(), c, Bytes(1));
  EXPECT_EQ(a.step_s, b.step_s);
  // The step waits for the slower of the two.
  EXPECT_GT(a.step_s, 1.03 * predict(plan_of_two(), made_up(), Bytes(1)).step_s);
}

}  // namespace
}  // namespace shoal
