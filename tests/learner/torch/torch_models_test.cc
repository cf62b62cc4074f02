// Every model that --model names learns, and refuses unsuitable data with a reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "optim/update.h"
#include "torch_support.h"

namespace shoal {
namespace {

using testing::HasSubstr;

const SampleShape kText{InputKind::Tokens, {12}, TargetKind::Next, 7};

struct Case {
  const char* model;
  SampleShape shape;
  std::uint64_t parameters;  // as the papers count them
  int steps = 25;
  double eta = 0.003;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.model; }

class Models : public testing::TestWithParam<Case> {};

TEST_P(Models, HasItsSizeAndLearns) {
  const Case& c = GetParam();
  TestLearner test(c.model, c.shape, {.seed = Seed(2)});
  EXPECT_EQ(test.learner.layout().parameters(), Elements(c.parameters));
  const Elements N = test.learner.layout().parameters();
  const Rule rule = default_rule(RuleKind::Adam);
  Arena slots_arena(N * slots(rule), Substance::Real);
  double first = 0, last = 0;
  for (int t = 0; t < c.steps; ++t) {
    test.score = Score();
    test.step(static_cast<std::uint64_t>(t), ids(0, 16));
    (t == 0 ? first : last) = test.score.loss / 16;
    const UpdateTarget shard{
        test.state.range(Elements(0), N), test.g.all(), slots_arena.all(), Elements(0), {}};
    run(update(test.env, rule, UpdateStep{c.eta, static_cast<std::uint64_t>(t) + 1, 16}, shard));
  }
  EXPECT_LT(last, 0.8 * first);
  const Score score = run(test.learner.evaluate(test.env, test.state.all(), 0, 300));
  EXPECT_EQ(score.samples, 300U);
  EXPECT_TRUE(std::isfinite(score.loss));
}

INSTANTIATE_TEST_SUITE_P(
    All, Models,
    testing::Values(
        Case{"linear", numbers(20, 4), 20 * 4 + 4, 60},
        Case{"linear", {InputKind::Sparse, {50}, TargetKind::Classes, 4}, 50 * 4 + 4, 100},
        Case{"mlp", numbers(20, 4), 20 * 512 + 512 + 512 * 512 + 512 + 512 * 4 + 4},
        Case{"mlp:784-2048-2048-10", images(1, 28), 5'824'522, 6},
        Case{"lenet", images(1, 28), 1'663'370},
        Case{"alexnet", images(3, 16, 2),
             64 * 25 * 3 + 64 + 64 * 192 * 25 + 192 + 192 * 384 * 9 + 384 + 384 * 256 * 9 + 256 +
                 256 * 256 * 9 + 256 + 2304 * 4096 + 4096 + 4096 * 4096 + 4096 + 4096 * 2 + 2,
             30, 0.0002},
        Case{"vgg:11", images(3, 32), 9'228'362, 6}, Case{"resnet:20", images(3, 16), 269'722},
        Case{"resnet:32", images(3, 8), 464'154}, Case{"resnet:56", images(3, 8), 853'018, 12},
        Case{"resnet:18", images(3, 16), 11'173'962, 6},
        Case{"lstm:32", kText, 7 * 32 + 4 * (32 * 32 * 2 + 64) + 32 * 7 + 7, 60},
        Case{"gru:32", kText, 7 * 32 + 3 * (32 * 32 * 2 + 64) + 32 * 7 + 7, 60},
        Case{"transformer:32-2-4", kText,
             7 * 32 + 12 * 32 +
                 2 * (32 * 96 + 96 + 32 * 32 + 32 + 32 * 128 + 128 + 128 * 32 + 32 + 128) + 64 +
                 32 * 7 + 7,
             40},
        Case{"autoencoder:16-4", numbers(20, 4),
             20 * 16 + 16 + 16 * 4 + 4 + 4 * 16 + 16 + 16 * 20 + 20, 150}),
    [](const testing::TestParamInfo<Case>& one) {
      std::string name = fmt::format("{}_{}", one.index, one.param.model);
      for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      return name;
    });

std::string error_of(const std::string& model, const SampleShape& shape) {
  try {
    model_factory(model, shape);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(ModelNames, UnknownOnesNameTheNearest) {
  EXPECT_THAT(error_of("lenett", images(1, 28)), HasSubstr("Did you mean 'lenet'?"));
  EXPECT_THAT(error_of("resnet:21", images(3, 32)), HasSubstr("the choices are 20, 32, 56, 18"));
}

TEST(ModelNames, SizesThatCannotBeAreRefused) {
  EXPECT_THAT(error_of("mlp:784-0-10", images(1, 28)), HasSubstr("'0-10' is not a list of sizes"));
  EXPECT_THAT(error_of("mlp:784-x", images(1, 28)), HasSubstr("'x' is not a list of sizes"));
  EXPECT_THAT(error_of("mlp:700-10", images(1, 28)), HasSubstr("a sample has 784 numbers"));
  EXPECT_THAT(error_of("mlp:784-9", images(1, 28)), HasSubstr("the data has 10 classes"));
  EXPECT_THAT(error_of("lenet:3", images(1, 28)), HasSubstr("takes no sizes"));
  EXPECT_THAT(error_of("transformer:30-2-4", kText), HasSubstr("cannot be split among 4 heads"));
  EXPECT_THAT(error_of("vgg", images(3, 16)), HasSubstr("at least 32x32 pixels"));
}

TEST(ModelNames, DataOfAnotherKindIsRefused) {
  EXPECT_THAT(error_of("lenet", numbers(784, 10)), HasSubstr("classifies images"));
  EXPECT_THAT(error_of("lstm", images(1, 28)), HasSubstr("reads symbols"));
  EXPECT_THAT(error_of("mlp", kText), HasSubstr("takes numbers"));
}

}  // namespace
}  // namespace shoal
