// Batch norm over groups and over workers, and weight norm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

#include <map>
#include <mutex>

#include "base/error.h"
#include "learner/torch/batch_norm.h"
#include "sim/sim_files.h"
#include "sync/sync.h"
#include "torch_support.h"
#include "transport/inproc_world.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

at::Tensor noise(at::IntArrayRef sizes, std::uint64_t seed) {
  Random random(Seed(seed), Purpose::Test, 0);
  at::Tensor x = at::empty(sizes);
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data_ptr<float>()[i] = static_cast<float>(random.normal() * 2 + 3);
  return x;
}

BatchNorm2d layer(std::int64_t channels, const char* choice) {
  BatchNorm2d norm(channels);
  norm->choose(parse_batch_norm(choice), std::make_shared<NormContext>());
  const torch::NoGradGuard no_grad;
  norm->named_parameters()["weight"].copy_(noise({channels}, 5));
  norm->named_parameters()["bias"].copy_(noise({channels}, 6));
  return norm;
}

// The outputs and gradients of a layer, for randomly weighted outputs.
struct Result {
  at::Tensor y, dx, dweight, dbias, mean, var;
};
template <class Layer>
Result pass(Layer& norm, const at::Tensor& input, std::uint64_t seed = 9) {
  Result r;
  at::Tensor x = input.clone().requires_grad_();
  r.y = norm->forward(x);
  (r.y * noise(input.sizes(), seed)).sum().backward();
  r.dx = x.grad();
  auto parameters = norm->named_parameters();
  r.dweight = parameters["weight"].grad().clone();
  r.dbias = parameters["bias"].grad().clone();
  parameters["weight"].mutable_grad().reset();
  parameters["bias"].mutable_grad().reset();
  r.mean = norm->named_buffers()["running_mean"].clone();
  r.var = norm->named_buffers()["running_var"].clone();
  return r;
}

void expect_near(const Result& a, const Result& b, double limit) {
  EXPECT_LE(distance(a.y, b.y), limit);
  EXPECT_LE(distance(a.dx, b.dx), limit);
  EXPECT_LE(distance(a.dweight, b.dweight), 100 * limit);  // sums over samples and pixels
  EXPECT_LE(distance(a.dbias, b.dbias), 100 * limit);
  EXPECT_LE(distance(a.mean, b.mean), limit);
  EXPECT_LE(distance(a.var, b.var), limit);
}

std::vector<std::string> names_of(torch::nn::Module& module) {
  std::vector<std::string> names = module.named_parameters().keys();
  for (const std::string& name : module.named_buffers().keys()) names.push_back(name);
  return names;
}

TEST(BatchNormLayer, IsThatOfLibtorchAndHasItsNames) {
  torch::nn::BatchNorm2d theirs(3);
  for (const char* choice : {"local", "group:8"}) {
    BatchNorm2d ours = layer(3, choice);
    EXPECT_EQ(names_of(*ours), names_of(*theirs));
    const torch::NoGradGuard no_grad;
    theirs->weight.copy_(ours->named_parameters()["weight"]);
    theirs->bias.copy_(ours->named_parameters()["bias"]);
    theirs->reset_running_stats();
    const at::AutoGradMode with_gradients(true);
    const at::Tensor x = noise({8, 3, 4, 4}, 1);
    expect_near(pass(ours, x), pass(theirs, x), 0);
    theirs->train(false);
    ours->train(false);
    EXPECT_TRUE(at::equal(ours->forward(x), theirs->forward(x)));
    theirs->train(true);
  }
}

TEST(BatchNormLayer, AGroupIsABatchOfItsOwn) {
  const at::Tensor x = noise({24, 3, 4, 4}, 1), weights = noise({24, 3, 4, 4}, 9);
  BatchNorm2d groups = layer(3, "group:8"), alone = layer(3, "local");
  const Result whole = pass(groups, x);
  for (std::int64_t k = 0; k < 3; ++k) {
    at::Tensor part = x.narrow(0, 8 * k, 8).clone().requires_grad_();
    const at::Tensor y = alone->forward(part);
    (y * weights.narrow(0, 8 * k, 8)).sum().backward();
    EXPECT_LE(distance(whole.y.narrow(0, 8 * k, 8), y), 1e-6);
    EXPECT_LE(distance(whole.dx.narrow(0, 8 * k, 8), part.grad()), 1e-6);
  }
  const auto relative = [](const at::Tensor& a, const at::Tensor& b) {
    return distance(a, b) / b.abs().max().item<double>();
  };
  EXPECT_LE(relative(whole.dweight, alone->named_parameters()["weight"].grad()), 1e-6);
  EXPECT_LE(relative(whole.dbias, alone->named_parameters()["bias"].grad()), 1e-6);
  EXPECT_LE(distance(whole.mean, alone->named_buffers()["running_mean"]), 1e-6);
  EXPECT_LE(distance(whole.var, alone->named_buffers()["running_var"]), 1e-6);
  EXPECT_EQ(groups->named_buffers()["num_batches_tracked"].item<std::int64_t>(), 3);
}

// The last batch of an epoch may have any size.
TEST(BatchNormLayer, GroupsOfAnOddBatchAreAsEvenAsCanBe) {
  const std::map<std::int64_t, std::int64_t> groups = {{1, 1}, {3, 1}, {5, 1},  {6, 2},
                                                       {7, 2}, {9, 2}, {10, 3}, {23, 6}};
  for (const auto& [n, expected] : groups) {
    BatchNorm2d norm = layer(2, "group:4");
    const at::Tensor y = norm->forward(noise({n, 2, 3, 3}, 1));
    EXPECT_EQ(y.size(0), n);
    EXPECT_EQ(norm->named_buffers()["num_batches_tracked"].item<std::int64_t>(), expected) << n;
  }
  BatchNorm2d tiny = layer(2, "group:4");
  EXPECT_THROW(tiny->forward(noise({1, 2, 1, 1}, 1)), c10::Error);
}

TEST(BatchNormLayer, OverWorkersAndAloneItIsThatOfOneBatch) {
  const at::Tensor x = noise({8, 3, 4, 4}, 1);
  BatchNorm2d ours = layer(3, "sync"), plain = layer(3, "local");
  expect_near(pass(ours, x), pass(plain, x), 1e-5);
}

// ---- In a model

std::string refusal(const char* model, const SampleShape& shape, const Normalization& choice) {
  try {
    model_factory(model, shape, choice)();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(NormalizedModel, KeepsItsNamesWithEveryBatchNorm) {
  const SampleShape shape = images(3, 8);
  TestLearner plain("resnet:20", shape);
  for (const char* choice : {"group:4", "sync"}) {
    TestLearner other(model_factory("resnet:20", shape, {parse_batch_norm(choice)}), shape);
    ASSERT_EQ(other.learner.layout().tensors().size(), plain.learner.layout().tensors().size());
    for (const TensorEntry& t : plain.learner.layout().tensors())
      EXPECT_NE(other.learner.layout().find(t.name), nullptr) << t.name;
  }
}

TEST(NormalizedModel, AGroupOfTheWholeBatchGivesTheSameBits) {
  const SampleShape shape = images(3, 8);
  TestLearner plain("resnet:20", shape);
  TestLearner grouped(model_factory("resnet:20", shape, {parse_batch_norm("group:16")}), shape);
  plain.step(0, ids(0, 16));
  grouped.step(0, ids(0, 16));
  EXPECT_TRUE(std::ranges::equal(plain.g.all().data(), grouped.g.all().data()));
  EXPECT_TRUE(std::ranges::equal(plain.state.all().data(), grouped.state.all().data()));
}

TEST(NormalizedModel, WeightsAreMadeOfLengthAndDirection) {
  for (const bool channels_last : {false, true}) {
    const SampleShape shape = images(1, 8);
    const TorchLearnerOptions options{.channels_last = channels_last};
    TestLearner plain("lenet", shape, options);
    TestLearner normed(model_factory("lenet", shape, {{}, true}), shape, options);
    const Layout& layout = normed.learner.layout();
    EXPECT_EQ(layout.find("conv2.weight"), nullptr);
    ASSERT_NE(layout.find("conv2.weight_v"), nullptr);
    ASSERT_NE(layout.find("conv2.weight_g"), nullptr);
    EXPECT_EQ(layout.find("conv2.weight_g")->shape, (std::vector<std::int64_t>{64, 1, 1, 1}));
    EXPECT_EQ(layout.find("fc1.weight_g")->shape, (std::vector<std::int64_t>{512, 1}));
    // It begins as the same function,
    const std::vector<SampleId> samples = ids(0, 8);
    EXPECT_LE(distance(plain.learner.output(plain.state.all(), samples),
                       normed.learner.output(normed.state.all(), samples)),
              1e-5);
    // and its gradient is that of w = g v / |v|: dg = dw.v/|v|, dv = g/|v| (dw - dg v/|v|).
    plain.step(0, samples);
    normed.step(0, samples);
    for (const std::string name : {"conv2.weight", "fc2.weight"}) {
      const TensorEntry& entry = *plain.learner.layout().find(name);
      const at::Tensor w = at::from_blob(plain.state.range(entry.at, entry.n).data().data(),
                                         entry.shape, entry.strides)
                               .flatten(1);
      const at::Tensor dw = plain.gradient_of(name).flatten(1);
      const at::Tensor length = w.norm(2, 1, true);
      const at::Tensor dg = (dw * w).sum(1, true) / length;
      EXPECT_LE(distance(normed.gradient_of(name + "_g").flatten(1), dg), 1e-4) << name;
      EXPECT_LE(distance(normed.gradient_of(name + "_v").flatten(1), dw - dg * w / length), 1e-4)
          << name;
    }
  }
}

TEST(NormalizedModel, LayersThatAreNotThereAreRefused) {
  const Normalization groups{parse_batch_norm("group:4")}, weights{{}, true};
  EXPECT_THAT(refusal("lenet", images(1, 8), groups),
              AllOf(HasSubstr("--batch-norm group:4"), HasSubstr("lenet has no batch norm")));
  EXPECT_EQ(refusal("resnet:20", images(1, 8), groups), "");
  EXPECT_EQ(refusal("vgg", images(3, 32), groups), "");
  EXPECT_EQ(refusal("resnet:20", images(1, 8), weights), "");
  const SampleShape text{InputKind::Tokens, {12}, TargetKind::Next, 7};
  EXPECT_EQ(refusal("transformer:32-2-4", text, weights), "");
  EXPECT_THAT(refusal("linear", numbers(8, 3), weights), HasSubstr("begins with zeros"));
  const SampleShape sparse{InputKind::Sparse, {50}, TargetKind::Classes, 4};
  EXPECT_THAT(refusal("linear", sparse, weights), HasSubstr("no fully connected"));
}

// ---- Over workers

// A job on a small network; each life has a learner of its own.
struct NormJob {
  SampleShape shape = images(3, 8, 4);
  std::string choice = "local";
  TrainingTask task{.samples = 48,
                    .global_batch = 16,
                    .steps = Step(1),
                    .eta = 0.05,
                    .evaluate = false,
                    .audit = true};
  InStep recipe{};
  std::function<void(Step)> saved = [](Step) {};
  std::mutex mutex;
  std::vector<std::unique_ptr<TorchLearner>> learners;
  std::map<NodeId, std::vector<float>> results;

  TorchLearner& make_learner() {
    const std::lock_guard lock(mutex);
    const auto source = std::make_shared<TestSource>(shape, 48);
    learners.push_back(std::make_unique<TorchLearner>(
        model_factory("resnet:20", shape, {parse_batch_norm(choice)}), source, source,
        TorchLearnerOptions{.seed = Seed(3)}));
    return *learners.back();
  }

  struct Saved final : CheckpointStore {
    explicit Saved(NormJob& of) : job(of) {}
    Task<void> save(Replica& replica) override {
      job.saved(replica.step);
      co_return;
    }
    Task<bool> load(Replica&) override { co_return false; }
    NormJob& job;
  };

  Task<void> work(Node& node, TorchLearner& learner) {
    Saved checkpoints(*this);
    Replica replica(node.endpoint, learner, Ledger(node.env.seed(), task.samples),
                    slots(task.rule));
    co_await sync_worker(node, learner, checkpoints, replica, task, recipe);
    const std::lock_guard lock(mutex);
    results[node.id].assign(replica.w().data().begin(), replica.w().data().end());
  }

  // Returns each worker's state at the end.
  std::map<NodeId, std::vector<float>> run(std::size_t P, const std::string& norm) {
    choice = norm;
    recipe.batch_norm = parse_batch_norm(norm);
    results.clear();
    std::vector<TorchLearner*> first;
    for (std::size_t i = 0; i < P; ++i) first.push_back(&make_learner());
    SimDisk disk(Seed(4));
    InprocWorld world(
        {.nodes = P, .loops = P, .seed = Seed(4), .compute_threads = true},
        [&](Env& env, NodeId node) { return std::make_unique<SimFiles>(disk, env, node); });
    on_world(world);
    const auto ends = world.run([&](Node& node) {
      TorchLearner* const given = std::exchange(first[node.id.value()], nullptr);
      return work(node, given != nullptr ? *given : make_learner());
    });
    for (const NodeEnd& end : ends) {
      ++how[end.how];
      if (end.how == NodeEnd::How::Failed) std::rethrow_exception(end.error);
    }
    return results;
  }
  std::function<void(InprocWorld&)> on_world = [](InprocWorld&) {};
  std::map<NodeEnd::How, int> how;
};

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, static_cast<double>(std::abs(a[i] - b[i])));
  return most;
}

TEST(SyncNorm, TwoWorkersAreOneOfTheDoubleBatch) {
  NormJob job;
  const std::vector<float> one = job.run(1, "local")[NodeId(0)];
  EXPECT_EQ(job.run(1, "sync")[NodeId(0)].size(), one.size());
  const auto two = job.run(2, "sync");
  EXPECT_EQ(two.at(NodeId(0)), two.at(NodeId(1)));
  EXPECT_LE(distance(two.at(NodeId(0)), one), 1e-5);
  EXPECT_GT(distance(job.run(2, "local")[NodeId(0)], one), 1e-4) << "statistics of its own";
}

TEST(SyncNorm, SharesMayBeUnevenOrEmpty) {
  NormJob job;
  job.task.global_batch = 7;
  const std::vector<float> one = job.run(1, "local")[NodeId(0)];
  EXPECT_LE(distance(job.run(3, "sync")[NodeId(2)], one), 1e-5);
  job.task.global_batch = 2;
  const std::vector<float> few = job.run(1, "local")[NodeId(0)];
  EXPECT_LE(distance(job.run(3, "sync")[NodeId(2)], few), 1e-5) << "one worker has no samples";
}

TEST(SyncNorm, AWorkerIsKilledWhileTheOthersWaitForIt) {
  NormJob job;
  job.task.steps = Step(12);
  job.task.save_every = Step(1);
  int kills = 0;
  job.on_world = [&](InprocWorld& world) {
    job.saved = [&](Step step) {
      if (step.value() % 3 == 0 && kills < 3) {
        ++kills;
        world.restart(NodeId(2));
      }
    };
  };
  const auto results = job.run(3, "sync");
  EXPECT_EQ(kills, 3);
  EXPECT_EQ(job.how[NodeEnd::How::Returned], 3);
  EXPECT_GE(job.how[NodeEnd::How::Killed], 1);
  EXPECT_EQ(results.at(NodeId(0)), results.at(NodeId(1)));
  EXPECT_EQ(results.at(NodeId(0)), results.at(NodeId(2)));
}

}  // namespace
}  // namespace shoal
