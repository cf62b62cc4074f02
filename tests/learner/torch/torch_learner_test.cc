// Compares the torch learner with plain libtorch: gradients, buckets, factors, state, aborts.
#include "learner/torch/torch_learner.h"

#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <thread>

#include "base/error.h"
#include "optim/update.h"
#include "runtime/live/live_env.h"
#include "torch_support.h"

namespace shoal {
namespace {

using testing::HasSubstr;

at::Tensor tensor_of(const TensorEntry& t, float* base) {
  return at::from_blob(base + t.at.value(), t.shape, t.strides);
}

// ---- Each step equals libtorch's, from the same parameters

std::unique_ptr<torch::optim::Optimizer> torch_optimizer(const Rule& rule, double eta,
                                                         std::vector<at::Tensor> parameters) {
  using torch::optim::SGDOptions;
  switch (rule.kind) {
    case RuleKind::Sgd:
      return std::make_unique<torch::optim::SGD>(std::move(parameters), SGDOptions(eta));
    case RuleKind::Momentum:
      return std::make_unique<torch::optim::SGD>(
          std::move(parameters),
          SGDOptions(eta).momentum(rule.momentum).weight_decay(rule.weight_decay));
    case RuleKind::Nesterov:
      return std::make_unique<torch::optim::SGD>(
          std::move(parameters), SGDOptions(eta).momentum(rule.momentum).nesterov(true));
    case RuleKind::Adagrad:
      return std::make_unique<torch::optim::Adagrad>(std::move(parameters),
                                                     torch::optim::AdagradOptions(eta));
    case RuleKind::Rmsprop:
      return std::make_unique<torch::optim::RMSprop>(std::move(parameters),
                                                     torch::optim::RMSpropOptions(eta));
    case RuleKind::Adam:
      return std::make_unique<torch::optim::Adam>(std::move(parameters),
                                                  torch::optim::AdamOptions(eta));
    default:
      return std::make_unique<torch::optim::AdamW>(std::move(parameters),
                                                   torch::optim::AdamWOptions(eta));
  }
}

// The largest difference of two tensors, in units of the larger element or of 1e-2 of the largest
// one: a parameter that happens to be near zero has no relative precision.
double far_apart(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor scale = at::max(b.abs(), b.abs().max() * 1e-2) + 1e-12;
  return ((a - b).abs() / scale).max().item<double>();
}

// Runs our learner and rule beside a module of the same architecture with libtorch's optimizer.
// After each step it compares parameters and optimizer state, and then copies them, so that both
// start the next step from the same values.
void expect_steps_like_libtorch(const std::string& model, const SampleShape& shape, RuleKind kind,
                                int steps, double tolerance) {
  constexpr std::uint64_t B = 8;
  const double eta = kind == RuleKind::Sgd || kind == RuleKind::Momentum ? 0.05 : 0.001;
  const Rule rule = default_rule(kind);
  TestLearner ours(model, shape, {.seed = Seed(3)});
  const Elements N = ours.learner.layout().parameters();
  Arena slots_arena(N * slots(rule), Substance::Real);

  TestLearner theirs(model, shape, {.seed = Seed(3)});  // its network, bound to its own arena
  std::vector<at::Tensor> parameters;
  for (const TensorEntry& t : theirs.learner.layout().parameter_tensors())
    parameters.push_back(tensor_of(t, theirs.state.data()));
  const auto optimizer = torch_optimizer(rule, eta, parameters);

  for (int t = 0; t < steps; ++t) {
    const auto samples = ids(static_cast<std::uint64_t>(t) * B % 256, B);
    // libtorch: the gradient of the mean, and its optimizer.
    theirs.step(static_cast<std::uint64_t>(t), samples);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const TensorEntry& e = theirs.learner.layout().parameter_tensors()[i];
      parameters[i].mutable_grad() = tensor_of(e, theirs.g.data()) / static_cast<double>(B);
    }
    optimizer->step();
    // Ours.
    ours.step(static_cast<std::uint64_t>(t), samples);
    const UpdateStep step{eta, static_cast<std::uint64_t>(t) + 1, static_cast<double>(B)};
    const UpdateTarget shard{
        ours.state.range(Elements(0), N), ours.g.all(), slots_arena.all(), Elements(0), {}};
    run(update(ours.env, rule, step, shard));

    const at::Tensor w = at::from_blob(ours.state.data(), {static_cast<std::int64_t>(N.value())});
    const at::Tensor v = at::from_blob(theirs.state.data(), {static_cast<std::int64_t>(N.value())});
    if (tolerance == 0) {
      ASSERT_TRUE(at::equal(w, v))
          << model << ", step " << t << ", off by " << (w - v).abs().max().item<double>();
    } else {
      ASSERT_LE(far_apart(w, v), tolerance) << model << ", step " << t;
    }
    w.copy_(v);  // The next step begins with the same parameters.
  }
}

TEST(TorchLearner, LeNetStepsAreThoseOfLibtorchsSgdBitForBit) {
  expect_steps_like_libtorch("lenet", images(1, 28), RuleKind::Sgd, 100, 0);
}
TEST(TorchLearner, ResNetStepsAreThoseOfLibtorchsSgdBitForBit) {
  expect_steps_like_libtorch("resnet:20", images(3, 16), RuleKind::Sgd, 100, 0);
}
TEST(TorchLearner, LeNetStepsAreThoseOfLibtorchsOtherOptimizers) {
  for (const RuleKind kind : {RuleKind::Momentum, RuleKind::Nesterov, RuleKind::Adagrad,
                              RuleKind::Rmsprop, RuleKind::Adam, RuleKind::AdamW})
    expect_steps_like_libtorch("lenet", images(1, 12), kind, 100, 1e-6);
}
TEST(TorchLearner, ResNetStepsAreThoseOfLibtorchsOtherOptimizers) {
  for (const RuleKind kind : {RuleKind::Momentum, RuleKind::Nesterov, RuleKind::Adagrad,
                              RuleKind::Rmsprop, RuleKind::Adam, RuleKind::AdamW})
    expect_steps_like_libtorch("resnet:20", images(3, 8), kind, 100, 1e-6);
}

// A plain libtorch network without hooks: autograd accumulates by itself.
struct Plain final : torch::nn::Module {
  Plain()
      : a(register_module("a", torch::nn::Linear(12, 20))),
        b(register_module("b", torch::nn::Linear(20, 3))) {}
  at::Tensor forward(const at::Tensor& x) { return b->forward(a->forward(x).relu()); }
  torch::nn::Linear a, b;
};

TEST(TorchLearner, GradientsAreThoseThatAutogradWouldAccumulate) {
  std::shared_ptr<Plain> module;
  TestLearner test(
      [&] {
        module = std::make_shared<Plain>();
        return model_of(module);
      },
      numbers(12, 3));
  test.step(0, ids(0, 16));
  auto alone = std::make_shared<Plain>();
  {
    const torch::NoGradGuard no_grad;
    for (const auto& item : alone->named_parameters())
      item.value().copy_(tensor_of(*test.learner.layout().find(item.key()), test.state.data()));
  }
  Batch batch;
  test.source->fill(0, ids(0, 16), batch);
  const BatchTensors t = tensors_of(batch, test.source->shape());
  (at::cross_entropy_loss(alone->forward(t.input), t.target) * 16).backward();
  for (const auto& item : alone->named_parameters())
    EXPECT_TRUE(at::equal(test.gradient_of(item.key()), item.value().grad())) << item.key();
  for (const auto& item : module->named_parameters())
    EXPECT_FALSE(item.value().grad().defined()) << "autograd accumulated " << item.key();
}

// ---- Buckets

TEST(TorchLearner, BucketsComeInOrderAndCoverTheGradientLastLayerFirst) {
  TestLearner test("lenet", images(1, 28), {.bucket_bytes = Bytes(1000)});
  EXPECT_EQ(test.learner.layout().tensors()[0].name.substr(0, 3), "fc2");
  const std::vector<Ready> ready = test.step(0, ids(0, 4));
  ASSERT_GT(ready.size(), 3U);
  Elements end;
  for (std::size_t b = 0; b < ready.size(); ++b) {
    EXPECT_EQ(ready[b].bucket, b);
    EXPECT_EQ(ready[b].at, end);
    end = ready[b].at + ready[b].n;
  }
  EXPECT_EQ(end, test.learner.layout().parameters());
}

TEST(TorchLearner, NoSamplesGiveAZeroGradientInAllBuckets) {
  TestLearner test("mlp:12-8-3", numbers(12, 3));
  std::ranges::fill(test.g.all().data(), 9.0F);
  EXPECT_EQ(test.step(0, {}).size(), 1U);
  for (const float x : test.g.all().data()) EXPECT_EQ(x, 0.0F);
}

// Uses one of its two layers in training.
struct Halved final : torch::nn::Module {
  Halved()
      : used(register_module("used", torch::nn::Linear(6, 2))),
        idle(register_module("idle", torch::nn::Linear(6, 2))) {}
  at::Tensor forward(const at::Tensor& x) { return used->forward(x); }
  torch::nn::Linear used, idle;
};

TEST(TorchLearner, UnusedParametersHaveAZeroGradientAndAreFlushedAtTheEnd) {
  TestLearner test([] { return model_of(std::make_shared<Halved>()); }, numbers(6, 2),
                   {.bucket_bytes = Bytes(1)});
  std::ranges::fill(test.g.all().data(), 9.0F);
  const std::vector<Ready> ready = test.step(0, ids(0, 4));
  EXPECT_EQ(ready.size(), 4U);
  EXPECT_TRUE(at::equal(test.gradient_of("idle.weight"), at::zeros({2, 6})));
  EXPECT_GT(test.gradient_of("used.weight").abs().sum().item<float>(), 0);
}

TEST(TorchLearner, ASinkGetsWhatTheArenaWouldGet) {
  struct Sink final : GradientSink {
    explicit Sink(std::size_t n) : got(n) {}
    void take(Elements at, std::span<const float> gradient) override {
      std::ranges::copy(gradient, got.begin() + static_cast<std::ptrdiff_t>(at.value()));
    }
    std::vector<float> got;
  };
  TestLearner test("lenet", images(1, 28), {.channels_last = true});
  test.step(0, ids(0, 8));
  const std::vector<float> expected(test.g.all().data().begin(), test.g.all().data().end());
  Sink sink(expected.size());
  std::ranges::fill(test.g.all().data(), 9.0F);
  test.step(0, ids(0, 8), &sink);
  EXPECT_EQ(sink.got, expected);
  EXPECT_EQ(test.g.all().data()[0], 9.0F) << "the arena was written all the same";
}

// A strategy asks for the next batch before it takes the current one.
TEST(TorchLearner, ABatchThatWasFetchedAheadIsNotFetchedAgain) {
  TestLearner test("linear", numbers(4, 2));
  const auto fetch = [&](std::uint64_t t) {
    run(test.learner.prefetch(test.env, Portion{0, Step(t), 0, ids(8 * t, 8)}));
  };
  const int before = test.source->fills;
  fetch(0);
  for (std::uint64_t t = 0; t < 5; ++t) {
    fetch(t + 1);
    test.step(t, ids(8 * t, 8));
  }
  EXPECT_EQ(test.source->fills - before, 6);
  test.step(6, ids(100, 8));
  EXPECT_EQ(test.source->fills - before, 7) << "another batch than was fetched";
}

// ---- Factors and sparse rows

TEST(TorchLearner, FactorsMultiplyToTheGradientBitForBit) {
  TestLearner test("mlp:12-40-30-3", numbers(12, 3), {.factors = true});
  const std::vector<Ready> ready = test.step(0, ids(0, 16));
  int seen = 0;
  for (const Ready& r : ready) {
    if (!r.factors) continue;
    ++seen;
    const Factors& f = *r.factors;
    const auto B = static_cast<std::int64_t>(f.batch.value());
    const auto rows = static_cast<std::int64_t>(f.rows.value());
    const auto columns = static_cast<std::int64_t>(f.columns.value());
    const at::Tensor error = at::from_blob(const_cast<float*>(f.error.get()), {B, rows});
    const at::Tensor input = at::from_blob(const_cast<float*>(f.input.get()), {B, columns});
    const at::Tensor dense = at::from_blob(test.g.range(r.at, r.n).data().data(), {rows, columns});
    EXPECT_TRUE(at::equal(error.t().mm(input), dense)) << "bucket " << r.bucket;
  }
  EXPECT_EQ(seen, 3);
}

TEST(TorchLearner, AWeightThatIsUsedTwiceHasNoFactors) {
  struct Twice final : torch::nn::Module {
    Twice() : fc(register_module("fc", torch::nn::Linear(4, 4))) {}
    at::Tensor forward(const at::Tensor& x) { return fc->forward(fc->forward(x).relu()); }
    torch::nn::Linear fc;
  };
  TestLearner test([] { return model_of(std::make_shared<Twice>()); }, numbers(4, 4),
                   {.factors = true});
  for (const Ready& r : test.step(0, ids(0, 8))) EXPECT_FALSE(r.factors.has_value());
}

TEST(TorchLearner, ASparseLinearModelGivesIndexAndValue) {
  TestLearner test("linear", {InputKind::Sparse, {1000}, TargetKind::Classes, 3},
                   {.bucket_bytes = Bytes(1)});
  bool seen = false;
  for (const Ready& r : test.step(0, ids(0, 16))) {
    if (!r.sparse) continue;
    seen = true;
    EXPECT_EQ(r.sparse->columns, Elements(3));
    EXPECT_EQ(r.sparse->rows, Elements(8)) << "3 classes and 5 features occur";
    const std::span<const float> dense = test.g.range(r.at, r.n).data();
    std::vector<float> rebuilt(dense.size());
    for (std::uint64_t i = 0; i < r.sparse->rows.value(); ++i)
      for (std::uint64_t c = 0; c < 3; ++c)
        rebuilt[static_cast<std::uint64_t>(r.sparse->indices.get()[i]) * 3 + c] =
            r.sparse->values.get()[i * 3 + c];
    EXPECT_TRUE(std::ranges::equal(rebuilt, dense));
  }
  EXPECT_TRUE(seen);
}

// ---- State

TEST(TorchLearner, OneLearnerServesTwoReplicasAsTwoLearnersWould) {
  const SampleShape shape = images(3, 8);
  TestLearner shared("resnet:20", shape, {.seed = Seed(5)});
  Arena other(shared.learner.layout().all(), Substance::Real);
  shared.learner.initialize(other.all());
  TestLearner alone("resnet:20", shape, {.seed = Seed(5)});
  // The other replica makes a step in between: its statistics must not leak.
  shared.step(0, ids(0, 8));
  {
    Channel<Ready> ready;
    Score score;
    const GradientTarget target{shared.g.all(), nullptr};
    Portion portion{0, Step(0), 0, ids(100, 8)};
    run(shared.learner.gradient(shared.env, other.all(), target, std::move(portion), ready, score));
  }
  shared.step(1, ids(8, 8));
  alone.step(0, ids(0, 8));
  alone.step(1, ids(8, 8));
  EXPECT_TRUE(std::ranges::equal(shared.state.all().data(), alone.state.all().data()));
  EXPECT_TRUE(std::ranges::equal(shared.g.all().data(), alone.g.all().data()));
  EXPECT_FALSE(std::ranges::equal(other.all().data(), alone.state.all().data()));
}

TEST(TorchLearner, BuffersAreStateAndCountersKeepTheirType) {
  TestLearner test("resnet:20", images(3, 8));
  const Layout& layout = test.learner.layout();
  const TensorEntry& count = *layout.find("norm.num_batches_tracked");
  EXPECT_EQ(count.section, Section::Side);
  EXPECT_EQ(layout.find("norm.running_mean")->section, Section::Buffer);
  const auto counted = [&] {
    std::int64_t n = 0;
    std::memcpy(&n, test.state.data() + count.at.value(), sizeof n);
    return n;
  };
  EXPECT_EQ(counted(), 0) << "the first look at the network was counted";
  test.step(0, ids(0, 8));
  test.step(1, ids(8, 8));
  EXPECT_EQ(counted(), 2);
  run(test.learner.evaluate(test.env, test.state.all(), 0, 64));
  EXPECT_EQ(counted(), 2) << "an evaluation changed the state";
}

TEST(TorchLearner, DropoutIsDrawnFromSeedStepAndShardAlone) {
  const SampleShape shape = images(1, 16);
  TestLearner one("alexnet", shape, {.seed = Seed(5)});
  one.step(3, ids(0, 4));
  const std::vector<float> first(one.g.all().data().begin(), one.g.all().data().end());
  one.step(4, ids(0, 4));
  EXPECT_FALSE(std::ranges::equal(first, one.g.all().data())) << "each step draws anew";
  one.step(3, ids(0, 4));
  EXPECT_TRUE(std::ranges::equal(first, one.g.all().data()));
}

TEST(TorchLearner, TheSameSeedGivesTheSameNetworkAlsoASecondTime) {
  TestLearner one("mlp:12-8-3", numbers(12, 3), {.seed = Seed(5)});
  TestLearner other("mlp:12-8-3", numbers(12, 3), {.seed = Seed(6)});
  const std::vector<float> first(one.state.all().data().begin(), one.state.all().data().end());
  one.step(0, ids(0, 4));  // bound now
  std::ranges::fill(one.state.all().data(), 0.0F);
  one.learner.initialize(one.state.all());
  EXPECT_TRUE(std::ranges::equal(first, one.state.all().data()));
  EXPECT_FALSE(std::ranges::equal(first, other.state.all().data()));
}

TEST(TorchLearner, ChannelsLastTrainsTheSameNetwork) {
  TestLearner plain("lenet", images(3, 12), {.seed = Seed(5)});
  TestLearner last("lenet", images(3, 12), {.seed = Seed(5), .channels_last = true});
  plain.step(0, ids(0, 8));
  last.step(0, ids(0, 8));
  EXPECT_FALSE(is_row_major(*last.learner.layout().find("conv2.weight")));
  for (const TensorEntry& t : plain.learner.layout().parameter_tensors())
    EXPECT_TRUE(at::allclose(plain.gradient_of(t.name), last.gradient_of(t.name), 1e-4, 1e-4))
        << t.name;
}

// ---- Errors

TEST(TorchLearner, AnAbortedStepLeavesItUsable) {
  TestLearner test("lenet", images(1, 28));
  test.step(0, ids(0, 8));
  const std::vector<float> expected(test.g.all().data().begin(), test.g.all().data().end());

  LiveLoop loop;
  ComputeThread compute;
  LiveEnv live(loop, {.compute = &compute});
  std::vector<Ready> seen;
  const auto training = [&]() -> Task<void> {
    Channel<Ready> ready;
    Score score;
    const GradientTarget target{test.g.all(), nullptr};
    Portion portion{0, Step(0), 0, ids(0, 256)};
    co_await test.learner.gradient(live, test.state.all(), target, std::move(portion), ready,
                                   score);
    ADD_FAILURE() << "the step was not aborted";
  };
  const auto program = [&]() -> Task<void> {
    TaskGroup group(loop.context());
    group.spawn(training());
    co_await live.sleep(std::chrono::milliseconds(1));
    group.cancel();
    co_await group.join();
  };
  run_task(loop, program());
  test.step(0, ids(0, 8));
  EXPECT_TRUE(std::ranges::equal(expected, test.g.all().data()));
}

// ---- Passes that begin before their parameters arrive

struct GatedPass {
  explicit GatedPass(const std::string& model, const SampleShape& shape) : test(model, shape) {
    test.step(0, ids(0, 8));
    expected.assign(test.g.all().data().begin(), test.g.all().data().end());
    // Parameters are NaN until they arrive.
    there.assign(test.state.all().data().begin(), test.state.all().data().end());
    std::ranges::fill(test.g.all().data(), 0.0F);
    for (const TensorEntry& t : test.learner.layout().parameter_tensors())
      std::ranges::fill(test.state.range(t.at, t.n).data(), std::nanf(""));
  }
  Task<void> pass() {
    Channel<Ready> ready;
    Score score;
    GradientTarget target{test.g.all()};
    target.gate = &gate;
    Portion portion{0, Step(0), 0, ids(0, 8)};
    co_await test.learner.gradient(live, test.state.all(), target, std::move(portion), ready,
                                   score);
  }
  // The first layers are the last in the arena.
  Task<void> bring_layers() {
    const auto tensors = test.learner.layout().parameter_tensors();
    for (std::size_t i = tensors.size(); i-- > 0;) {
      co_await live.sleep(std::chrono::milliseconds(2));
      const Range tensor = test.state.range(tensors[i].at, tensors[i].n);
      const auto from = there.begin() + static_cast<std::ptrdiff_t>(tensor.at.value());
      std::copy_n(from, tensor.n.value(), tensor.data().begin());
      gate.came(tensor.at, tensor.n);
    }
  }

  TestLearner test;
  std::vector<float> expected, there;
  ParameterGate gate{test.learner.pieces()};
  LiveLoop loop;
  ComputeThread compute;
  LiveEnv live{loop, {.compute = &compute}};
};

TEST(TorchLearner, APassWaitsForEachLayersParametersAndGivesTheSameGradient) {
  for (const auto& [model, shape] :
       {std::pair("mlp:12-8-3", numbers(12, 3)), std::pair("lenet", images(1, 28))}) {
    GatedPass early(model, shape);
    run_task(early.loop, with_group([&](TaskGroup& group) -> Task<> {
               group.spawn(early.pass());
               group.spawn(early.bring_layers());
               co_return;
             }));
    EXPECT_TRUE(std::ranges::equal(early.expected, early.test.g.all().data())) << model;
    EXPECT_GT(early.gate.time_waited(), std::chrono::milliseconds(2)) << model;
  }
}

TEST(TorchLearner, APassThatWaitsIsRefusedAndTheNextOneWorks) {
  GatedPass early("lenet", images(1, 28));
  const auto program = [&]() -> Task<void> {
    TaskGroup group(early.loop.context());
    group.spawn(early.pass());
    co_await early.live.sleep(std::chrono::milliseconds(5));
    early.gate.refuse();
    group.cancel();
    co_await group.join();
  };
  run_task(early.loop, program());
  std::ranges::copy(early.there, early.test.state.all().data().begin());
  early.test.step(0, ids(0, 8));
  EXPECT_TRUE(std::ranges::equal(early.expected, early.test.g.all().data()));
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(TorchLearner, ALossThatIsNoNumberNamesStepSamplesAndARemedy) {
  TestLearner test("mlp:12-8-3", numbers(12, 3));
  test.state.all().data()[0] = std::numeric_limits<float>::quiet_NaN();
  const std::string error = error_of([&] { test.step(41, ids(17, 20)); });
  EXPECT_THAT(error, HasSubstr("step 41"));
  EXPECT_THAT(error, HasSubstr("samples 17 18"));
  EXPECT_THAT(error, HasSubstr("and 4 more"));
  EXPECT_THAT(error, HasSubstr("--lr"));
}

TEST(TorchLearner, ANetworkThatDoesNotFitTheDataIsRefusedAtOnce) {
  EXPECT_THAT(error_of([] {
                TestLearner([] { return model_of(std::make_shared<Plain>()); }, numbers(13, 3));
              }),
              HasSubstr("does not fit the data (13 numbers, 3 classes)"));
  EXPECT_THAT(error_of([] {
                TestLearner([] { return model_of(std::make_shared<Plain>()); }, numbers(12, 4));
              }),
              HasSubstr("the model has 3 classes, the data has 4"));
}

TEST(TorchLearner, ParametersOfAnotherTypeAreRefused) {
  struct Wide final : torch::nn::Module {
    Wide() : w(register_parameter("w", at::zeros({4, 2}, at::kDouble))) {}
    at::Tensor forward(const at::Tensor& x) { return x.matmul(w.to(at::kFloat)); }
    at::Tensor w;
  };
  EXPECT_THAT(error_of([] {
                TestLearner([] { return model_of(std::make_shared<Wide>()); }, numbers(4, 2));
              }),
              HasSubstr("parameter w of the model is Double"));
}

}  // namespace
}  // namespace shoal
