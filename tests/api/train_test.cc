// The C++ API without a command line: user-defined modules, losses and data.
#include "shoal/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "support/temporary_folder.h"

namespace shoal {
namespace {

using testing::HasSubstr;

struct Small : torch::nn::Module {
  explicit Small(std::int64_t outputs)
      : hidden(register_module("hidden", torch::nn::Linear(4, 16))),
        norm(register_module("norm", torch::nn::BatchNorm1d(16))),
        out(register_module("out", torch::nn::Linear(16, outputs))) {}
  at::Tensor forward(const at::Tensor& x) { return out(at::relu(norm(hidden(x)))); }
  torch::nn::Linear hidden;
  torch::nn::BatchNorm1d norm;
  torch::nn::Linear out;
};

// Points whose class depends on the signs of two of their coordinates.
at::Tensor points(std::int64_t n) {
  const at::Tensor i = at::arange(n * 4, at::kFloat);
  return at::sin(i * 12.9898).view({n, 4});
}
at::Tensor quadrants(const at::Tensor& x) {
  return x.select(1, 0).gt(0).to(at::kLong) * 2 + x.select(1, 1).gt(0).to(at::kLong);
}

struct Api : testing::Test {
  TemporaryFolder folder;

  Training training(Data data, std::int64_t outputs) {
    Training t;
    t.model = model<Small>(outputs);
    t.data = std::move(data);
    t.epochs = 12;
    t.batch = 32;
    t.eta = 0.1;
    t.out = (folder.path() / "run").string();
    t.quiet = true;
    return t;
  }
  template <class Failure = Error>
  std::string refusal(const Training& t) {
    try {
      train(t);
    } catch (const Failure& error) {
      return error.what();
    }
    return "it was not refused";
  }
};

TEST_F(Api, TensorsAreLearntAndTheModuleHoldsWhatWasLearnt) {
  const at::Tensor x = points(640);
  const Trained result = train(training(data(x, quadrants(x)), 4));
  EXPECT_EQ(result.steps, 12U * 18U);  // a tenth is held out
  EXPECT_GT(result.test_accuracy, 0.9);
  EXPECT_LT(result.train_loss, 0.4);
  EXPECT_FALSE(result.stopped);
  EXPECT_TRUE(std::filesystem::exists(result.model_file)) << result.model_file;
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(result.folder) / "summary.json"));

  const auto net = std::dynamic_pointer_cast<Small>(result.module);
  ASSERT_NE(net, nullptr);
  const torch::NoGradGuard no_grad;
  const double right =
      net->forward(x).argmax(1).eq(quadrants(x)).to(at::kDouble).mean().item<double>();
  EXPECT_GT(right, 0.9);
}

TEST_F(Api, AnExistingModuleIsTrainedInPlaceFromTheValuesThatItHas) {
  const at::Tensor x = points(320);
  auto net = std::make_shared<Small>(1);
  const at::Tensor before = net->out->weight.detach().clone();
  const float* const memory = net->out->weight.data_ptr<float>();
  // y has shape n, outputs n x 1: they must not broadcast to n x n.
  Training t = training(data(x, x.select(1, 0) * 2), 1);
  t.model = existing_model(net);
  t.optimizer = "sgd";
  t.epochs = 20;
  const Trained result = train(t);
  EXPECT_EQ(result.module, net);
  EXPECT_EQ(net->out->weight.data_ptr<float>(), memory);
  EXPECT_FALSE(at::equal(net->out->weight, before));
  EXPECT_LT(result.test_loss, 0.3);
  EXPECT_TRUE(std::isnan(result.test_accuracy));
  // Afterwards the module is an ordinary libtorch module.
  net->forward(x).sum().backward();
  EXPECT_TRUE(net->out->weight.grad().defined());
}

struct Counted : Samples {
  std::int64_t size() const override { return 256; }
  Examples get(const std::vector<std::int64_t>& ids) override {
    ++asked;
    const at::Tensor all = points(256);
    const at::Tensor x = all.index_select(0, at::tensor(ids, at::kLong));
    if (fail_at >= 0 && ids.front() >= fail_at) throw std::runtime_error("the disk is gone");
    return {x, at::stack({x.select(1, 0), x.select(1, 1)}, 1).view({-1, 2, 1})};
  }
  int asked = 0;
  std::int64_t fail_at = -1;
};

TEST_F(Api, ADatasetOfOnesOwnIsAskedForBatchesAndALossOfOnesOwnGetsItsShapes) {
  auto samples = std::make_shared<Counted>();
  Training t = training(data(samples), 2);
  t.loss = [](const at::Tensor& output, const at::Tensor& target) {
    TORCH_CHECK(target.dim() == 3 && target.size(1) == 2 && target.size(2) == 1);
    return (output - target.squeeze(2)).abs().mean();
  };
  t.flags = {"--optimizer", "adam", "--steps", "100"};
  const Trained result = train(t);
  EXPECT_EQ(result.steps, 100U);
  EXPECT_GE(samples->asked, 100);
  EXPECT_LT(result.train_loss, 0.6);  // the mean of all steps; guessing gives 0.64
  EXPECT_TRUE(std::isnan(result.test_loss));
}

TEST_F(Api, AnUpdateRuleOfOnesOwnTakesThePlaceOfTheOptimizer) {
  const at::Tensor x = points(640);
  Training t = training(data(x, quadrants(x)), 4);
  t.update.name = "sign";
  t.update.apply = [](const Update& u) {
    for (std::size_t i = 0; i < u.w.size(); ++i)
      u.w[i] -= static_cast<float>(u.eta) * (u.g[i] > 0 ? 1.0F : -1.0F);
  };
  t.eta = 0.01;
  EXPECT_GT(train(t).test_accuracy, 0.9);

  t.out = (folder.path() / "refused").string();
  t.optimizer = "adam";
  EXPECT_THAT(refusal<ConfigError>(t), HasSubstr("--optimizer adam with the update rule sign"));
  t.optimizer = "auto";
  t.eta = 0;
  EXPECT_THAT(refusal<ConfigError>(t), HasSubstr("give Training::eta"));
}

TEST_F(Api, ARunGoesOnWhereAnotherEnded) {
  const at::Tensor x = points(320);
  Training t = training(data(x, quadrants(x)), 4);
  t.epochs = 2;
  const Trained first = train(t);
  t.out = "";
  t.flags = {"--resume", first.folder, "--epochs", "4"};
  EXPECT_EQ(train(t).steps, 2 * first.steps);
}

TEST_F(Api, DataThatCannotBeIsRefusedInWords) {
  const at::Tensor x = points(64);
  const auto refused = [&](Data d) { return refusal(training(std::move(d), 4)); };
  EXPECT_THAT(refused(data(x, quadrants(x).slice(0, 0, 60))),
              HasSubstr("x has 64 samples (shape 64x4), y has shape 60"));
  EXPECT_THAT(refused(data(x.slice(0, 0, 0), quadrants(x).slice(0, 0, 0))),
              HasSubstr("no samples"));
  EXPECT_THAT(refused(data(at::Tensor(), quadrants(x))), HasSubstr("undefined tensor"));
  EXPECT_THAT(refused(data(x, quadrants(x) - 1)), HasSubstr("has label -1"));
  EXPECT_THAT(refused(data(x, at::zeros({64, 2, 2}, at::kLong))), HasSubstr("labels y of shape"));
  EXPECT_THAT(refused(data(x.select(1, 0), quadrants(x))), HasSubstr("x.unsqueeze(1)"));
  EXPECT_THAT(refused(data(x, quadrants(x), points(8).slice(1, 0, 3), quadrants(points(8)))),
              HasSubstr("differs from the training data"));
  EXPECT_THAT(refused(data(x.slice(1, 0, 3), quadrants(x))),
              HasSubstr("the model does not fit the data (3 numbers, 4 classes)"));
  EXPECT_THAT(refused(Data()), HasSubstr("Training::data is empty"));
  EXPECT_THAT(refused(data("fashion-minst")), HasSubstr("Did you mean 'fashion-mnist'"));
}

TEST_F(Api, WishesThatCannotBeAreRefusedInWords) {
  const at::Tensor x = points(64);
  const Training good = training(data(x, quadrants(x)), 4);
  Training t = good;
  t.model = {};
  EXPECT_THAT(refusal<ConfigError>(t), HasSubstr("Training::model is empty"));
  t = good;
  t.eta = -1;
  EXPECT_THAT(refusal<ConfigError>(t), HasSubstr("--lr -1"));
  t = good;
  t.flags = {"--model", "lenet"};
  EXPECT_THAT(refusal<ConfigError>(t), HasSubstr("unknown option '--model'"));
  t = good;
  t.model = model<Small>(2);
  EXPECT_THAT(refusal<ConfigError>(t), HasSubstr("2 classes, the data has 4"));
  EXPECT_FALSE(std::filesystem::exists(good.out)) << "what is refused leaves nothing behind";
}

TEST_F(Api, ALossThatIsNoNumberEndsTheRunAndLeavesTheModuleAsItWas) {
  const at::Tensor x = points(64);
  x[50][2] = std::numeric_limits<float>::quiet_NaN();
  auto net = std::make_shared<Small>(4);
  const at::Tensor before = net->out->weight.detach().clone();
  Training t = training(data(x, quadrants(points(64))), 4);
  t.model = existing_model(net);
  t.test_fraction = 0;
  EXPECT_THAT(refusal<DataError>(t), HasSubstr("the loss became nan"));
  EXPECT_TRUE(at::equal(net->out->weight, before));
}

TEST_F(Api, ADatasetThatFailsOnTheWayEndsTheRunWithItsOwnWords) {
  auto samples = std::make_shared<Counted>();
  samples->fail_at = 100;
  EXPECT_THAT(refusal<DataError>(training(data(samples), 2)), HasSubstr("the disk is gone"));
}

}  // namespace
}  // namespace shoal
