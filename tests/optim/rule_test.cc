// Rules as values: names, defaults, refusals.
#include "optim/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "optim/update.h"

namespace shoal {
namespace {

TEST(Rule, EveryNameGivesItsKind) {
  for (std::size_t i = 0; i < kRuleKinds; ++i) {
    const auto kind = static_cast<RuleKind>(i);
    EXPECT_EQ(parse_rule(to_string(kind)).kind, kind);
    EXPECT_NO_THROW(require_valid(parse_rule(to_string(kind))));
  }
}

TEST(Rule, AnUnknownNameSuggestsTheNearest) {
  try {
    parse_rule("adamv");
    FAIL() << "it was taken";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'adamv'"));
    EXPECT_THAT(error.what(), testing::HasSubstr("Did you mean 'adam"));
  }
  EXPECT_THROW(parse_rule(""), ConfigError);
  EXPECT_THROW(parse_rule("Adam"), ConfigError);
}

TEST(Rule, OneOfTheUsersOwnHasItsNameAndSlots) {
  UpdateRule own{.name = "mine", .slots = 2, .apply = [](const Update&) {}};
  const Rule rule = own_rule(own);
  EXPECT_EQ(slots(rule), 2U);
  EXPECT_EQ(rounds(rule), 0U);
  EXPECT_EQ(name_of(rule), "mine");
  EXPECT_EQ(describe(rule), "mine");
  own.slots = 3;
  EXPECT_THROW(own_rule(own), ConfigError);
  EXPECT_THROW(own_rule(UpdateRule{.name = "empty"}), ConfigError);
}

TEST(Rule, ItsDefaultsAreThoseOfLibtorchAndThePapers) {
  const Rule adam = parse_rule("adam");
  EXPECT_EQ(adam.beta1, 0.9);
  EXPECT_EQ(adam.beta2, 0.999);
  EXPECT_EQ(adam.epsilon, 1e-8);
  EXPECT_EQ(adam.weight_decay, 0);
  EXPECT_EQ(parse_rule("adamw").weight_decay, 0.01);
  EXPECT_EQ(parse_rule("adagrad").epsilon, 1e-10);
  EXPECT_EQ(parse_rule("rmsprop").alpha, 0.99);
  EXPECT_EQ(parse_rule("rmsprop").epsilon, 1e-8);
  EXPECT_EQ(parse_rule("rmsprop").momentum, 0);
  EXPECT_EQ(parse_rule("sgd").weight_decay, 0);
  EXPECT_EQ(parse_rule("lars").trust, 0.001);
  EXPECT_EQ(parse_rule("lars").weight_decay, 0.0005);
  EXPECT_EQ(parse_rule("lamb").epsilon, 1e-6);
  EXPECT_EQ(parse_rule("lamb").weight_decay, 0.01);
}

TEST(Rule, SaysWhatItIsWithTheConstantsItUses) {
  EXPECT_EQ(describe(parse_rule("sgd")), "sgd");
  EXPECT_EQ(describe(parse_rule("nesterov")), "nesterov, momentum 0.9");
  EXPECT_EQ(describe(parse_rule("adamw")),
            "adamw, beta1 0.9, beta2 0.999, epsilon 1e-08, weight decay 0.01");
  EXPECT_EQ(describe(parse_rule("lars")), "lars, momentum 0.9, trust 0.001, weight decay 0.0005");
  Rule clipped = parse_rule("rmsprop");
  clipped.clip_norm = 5;
  EXPECT_EQ(describe(clipped), "rmsprop, alpha 0.99, epsilon 1e-08, clipped at norm 5");
}

TEST(Rule, KnowsItsSlotsAndRounds) {
  EXPECT_EQ(slots(parse_rule("sgd")), 0U);
  EXPECT_EQ(slots(parse_rule("momentum")), 1U);
  EXPECT_EQ(slots(parse_rule("lamb")), 2U);
  Rule rule = parse_rule("rmsprop");
  EXPECT_EQ(slots(rule), 1U);
  rule.momentum = 0.9;
  EXPECT_EQ(slots(rule), 2U);
  EXPECT_EQ(rounds(parse_rule("adam")), 0U);
  for (const auto& [name, unclipped, clipped] : std::vector<std::tuple<const char*, int, int>>{
           {"sgd", 0, 1}, {"lars", 1, 1}, {"lamb", 1, 2}}) {
    rule = parse_rule(name);
    EXPECT_EQ(rounds(rule), unclipped) << name;
    rule.clip_norm = 1;
    EXPECT_EQ(rounds(rule), clipped) << name;
  }
}

TEST(Rule, AConstantThatNoTrainingCanMeanIsRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  const auto refused = [](double Rule::*constant, double value) {
    Rule rule = parse_rule("adam");
    rule.*constant = value;
    EXPECT_THROW(require_valid(rule), ConfigError) << value;
  };
  for (double Rule::*share : {&Rule::momentum, &Rule::alpha, &Rule::beta1, &Rule::beta2})
    for (const double value : {-0.1, 1.0, 2.0, nan}) refused(share, value);
  for (double Rule::*amount : {&Rule::epsilon, &Rule::weight_decay, &Rule::clip_norm, &Rule::trust})
    for (const double value : {-0.1, nan, infinite}) refused(amount, value);
  refused(&Rule::trust, 0);
  Rule rule = parse_rule("adam");
  rule.beta1 = 1.5;
  try {
    require_valid(rule);
    FAIL() << "it was taken";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "beta1 of adam is 1.5; it must be in [0, 1)");
  }
}

}  // namespace
}  // namespace shoal
