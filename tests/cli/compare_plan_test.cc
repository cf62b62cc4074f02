#include "cli/compare_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace shoal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ComparePlan, SystemsAreKnownAndThereOnce) {
  EXPECT_THAT(parse_systems("pytorch,easgd"), ElementsAre("pytorch", "easgd"));
  EXPECT_THAT(parse_systems("caffeonspark"), ElementsAre("bigdl")) << "an alias";
  EXPECT_THAT(error_of([] { parse_systems("pytorch,eassgd"); }), HasSubstr("'easgd'"));
  EXPECT_THAT(error_of([] { parse_systems("easgd,pytorch,easgd"); }), HasSubstr("is repeated"));
  EXPECT_THAT(error_of([] { parse_systems("easgd,"); }), HasSubstr("empty"));
  EXPECT_THAT(error_of([] { parse_systems(""); }), HasSubstr("empty"));
}

TEST(ComparePlan, OnlyWhatWasGivenIsHandedOn) {
  bool flush = true, other = true;
  std::uint64_t batch = 32;
  double clip = 0.5;
  std::string model = "mlp:2-3", data = "x";
  const std::vector<Option> options = {{"--flush", "", &flush},    {"--other", "", &other},
                                       {"-b,--batch", "", &batch}, {"--clip", "", &clip},
                                       {"--model", "", &model},    {"--data", "", &data}};
  EXPECT_THAT(words_of(options, {"--flush", "--batch", "--clip", "--model"}),
              ElementsAre("--flush", "--batch", "32", "--clip", "0.5", "--model", "mlp:2-3"));
}

TEST(ComparePlan, WhatItCostsToBeginIsNoStep) {
  std::vector<double> ends;  // 20 steps of two workers: a start of 3 s, then 0.1 s a step
  for (int i = 0; i < 40; ++i) ends.push_back(3 + 0.05 * (i + 1));
  const Pilot pilot = steady({.steps = 20, .seconds = 5}, ends);
  EXPECT_NEAR(pilot.begin_s, 3, 1e-9);
  EXPECT_NEAR(static_cast<double>(steps_in(63, pilot)), 600, 1);
  EXPECT_EQ(steady({.steps = 3, .seconds = 5}, std::vector<double>{1, 2, 5}).begin_s, 0);
}

TEST(ComparePlan, ATimeIsAsManyStepsAsThePilotSays) {
  const Pilot pilot{.steps = 20, .seconds = 2};
  EXPECT_EQ(steps_in(60, pilot), 600U);
  EXPECT_EQ(steps_in(0.001, pilot), 1U) << "at least one";
  EXPECT_EQ(steps_in(60, Pilot()), 1U);
}

// A regression: Downpour starts all workers but one after a warm start, and a pilot during it led
// to a run of only half of the budget.
TEST(ComparePlan, APilotOfSomeWorkersIsFollowedByALongerOne) {
  EXPECT_EQ(longer_pilot({.steps = 20, .seconds = 2}, 60, true), 0U);
  EXPECT_EQ(longer_pilot({.steps = 20, .seconds = 2}, 60, false), 80U);
  EXPECT_EQ(longer_pilot({.steps = 20, .seconds = 0.5}, 60, true), 120U) << "it was short";
  EXPECT_EQ(longer_pilot({.steps = 20, .seconds = 0.5}, 4, true), 0U) << "so is the budget";
  // 20 updates of one worker, then 60 of two.
  std::vector<double> ends;
  for (int i = 0; i < 20; ++i) ends.push_back(0.1 * (i + 1));
  for (int i = 0; i < 60; ++i) ends.push_back(2 + 0.05 * (i + 1));
  EXPECT_NEAR(static_cast<double>(steps_in(62, steady({.steps = 80, .seconds = 5}, ends))), 1220,
              20);
}

TEST(ComparePlan, TwoPilotsTellWhatItCostsToBegin) {
  // One second of start, and a tenth of a second per step.
  const Pilot pilot = between({.steps = 20, .seconds = 3}, {.steps = 80, .seconds = 9});
  EXPECT_DOUBLE_EQ(pilot.begin_s, 1);
  EXPECT_EQ(steps_in(11, pilot), 100U);
  EXPECT_EQ(steps_in(9, between({.steps = 20, .seconds = 5}, {.steps = 80, .seconds = 4})), 180U)
      << "nonsense is left aside";
}

TEST(ComparePlan, StepSizesLieAroundTheUsualOne) {
  EXPECT_THAT(eta_points(0.1), ElementsAre(0.0333, 0.1, 0.3));
}

}  // namespace
}  // namespace shoal
