#include "optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace shoal {
namespace {

constexpr Step kEpoch{10};
constexpr Step kTotal{1000};  // 100 epochs

double at(const char* text, std::uint64_t t, std::uint64_t workers = 1) {
  return eta(parse_schedule(text), 0.5, Step(t), {kEpoch, kTotal}, workers);
}

TEST(Schedule, ConstantStaysWhatItIs) {
  EXPECT_EQ(at("constant", 0), 0.5);
  EXPECT_EQ(at("constant", 999), 0.5);
}

TEST(Schedule, StairsFallAtTheirMilestones) {
  for (const auto& [t, expected] : std::vector<std::pair<std::uint64_t, double>>{
           {0, 0.5}, {299, 0.5}, {300, 0.05}, {599, 0.05}, {600, 0.005}, {900, 0.0005}})
    EXPECT_DOUBLE_EQ(at("step:30,60,90:0.1", t), expected) << t;
}

TEST(Schedule, OneMilestoneRepeats) {
  EXPECT_EQ(at("step:30:0.5", 299), 0.5);
  EXPECT_EQ(at("step:30:0.5", 300), 0.25);
  EXPECT_EQ(at("step:30:0.5", 999), 0.5 / 8);
  EXPECT_DOUBLE_EQ(at("step:30", 300), 0.05) << "by a tenth where no factor is given";
}

TEST(Schedule, CosineGoesHalfWayInHalfTheRunAndEndsAtZero) {
  EXPECT_EQ(at("cosine", 0), 0.5);
  EXPECT_DOUBLE_EQ(at("cosine", 250), 0.25 * (1 + std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(at("cosine", 500), 0.25);
  EXPECT_EQ(at("cosine", 1000), 0.0);
  EXPECT_EQ(at("cosine", 5000), 0.0) << "and stays there";
  EXPECT_DOUBLE_EQ(at("cosine:0.1", 1000), 0.05);
}

TEST(Schedule, PolynomialEndsAtZero) {
  EXPECT_EQ(at("poly:2", 0), 0.5);
  EXPECT_DOUBLE_EQ(at("poly:2", 500), 0.125);
  EXPECT_DOUBLE_EQ(at("poly", 900), 0.05);
  EXPECT_EQ(at("poly:2", 1000), 0.0);
  EXPECT_EQ(at("poly:0.5", 2000), 0.0);
}

TEST(Schedule, HorizonEndsWithTheLastEpochsSamples) {
  EXPECT_EQ(horizon_of(100, 10, 3, 0), (Horizon{Step(10), Step(30)}));
  EXPECT_EQ(horizon_of(100, 10, 1, 40), (Horizon{Step(10), Step(4)}));
  EXPECT_EQ(horizon_of(100, 10, 3, 40), (Horizon{Step(10), Step(24)}));
  EXPECT_EQ(horizon_of(95, 10, 2, 95), (Horizon{Step(10), Step(20)})) << "the last is smaller";
  EXPECT_EQ(horizon_of(95, 10, 2, 1000), (Horizon{Step(10), Step(20)}));
}

TEST(Schedule, WarmupIsALineToWhereTheRestBegins) {
  for (const char* text : {"warmup:5+constant", "warmup:5+cosine", "warmup:5+poly:2",
                           "warmup:5%+cosine", "warmup:5+step:30:0.1"}) {
    EXPECT_DOUBLE_EQ(at(text, 0), 0.5 / 50) << text;
    EXPECT_DOUBLE_EQ(at(text, 24), 0.25) << text;
    EXPECT_EQ(at(text, 49), 0.5) << text;
    EXPECT_EQ(at(text, 50), 0.5) << text << " is continuous";
  }
  EXPECT_DOUBLE_EQ(at("warmup:5+cosine", 525), 0.25) << "the cosine has the rest of the run";
  EXPECT_EQ(at("warmup:5+cosine", 1000), 0.0);
  EXPECT_DOUBLE_EQ(at("warmup:200+cosine", 999), 0.25) << "a run that ends in its warm-up";
}

TEST(Schedule, AWarmupOfPartOfAStepNeverExceedsTheBase) {
  EXPECT_EQ(at("warmup:0.05+constant", 0), 0.5);
  EXPECT_EQ(at("warmup:0+constant", 0), 0.5);
}

TEST(Schedule, LinearScalingMultipliesByTheWorkers) {
  EXPECT_EQ(at("linear+constant", 7, 8), 4.0);
  EXPECT_DOUBLE_EQ(at("linear+warmup:5+cosine", 0, 8), 4.0 / 50);
  EXPECT_EQ(at("constant", 7, 8), 0.5);
}

TEST(Schedule, ItsTextFormIsReadBackAsItWas) {
  for (const char* text : {"constant", "step:30,60,90:0.1", "step:2.5:0.5", "cosine", "cosine:0.01",
                           "poly:2", "warmup:5+cosine", "warmup:5%+poly:0.5",
                           "linear+warmup:0.5+step:30:0.1", "linear+constant"})
    EXPECT_EQ(describe(parse_schedule(text)), text);
}

TEST(Schedule, WhatItCannotReadIsAnErrorThatSaysWhatIsAllowed) {
  for (const char* text : {"",
                           "cos",
                           "constant:1",
                           "step",
                           "step:",
                           "step::0.1",
                           "step:30,20:0.1",
                           "step:0:0.1",
                           "step:-5",
                           "step:30:0",
                           "step:30:x",
                           "step:30,,40",
                           "step:30:0.1:2",
                           "cosine:",
                           "cosine:2",
                           "cosine:nan",
                           "poly:0",
                           "poly:-1",
                           "poly:inf",
                           "poly:1e999",
                           "warmup:5",
                           "warmup:+cosine",
                           "warmup:-1+cosine",
                           "warmup:100%+cosine",
                           "warmup:5+",
                           "warmup:5+warmup:5+cosine",
                           "linear",
                           "linear+",
                           "cosine+linear",
                           " cosine"}) {
    try {
      parse_schedule(text);
      FAIL() << "'" << text << "' was taken";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(fmt::format("'{}'", text)));
      EXPECT_THAT(error.what(), testing::HasSubstr("Allowed: constant, step:"));
    }
  }
  std::string endless = "step:1";
  for (int i = 2; i < 5000; ++i) endless += fmt::format(",{}", i);
  EXPECT_THROW(parse_schedule(endless), ConfigError);
}

}  // namespace
}  // namespace shoal
