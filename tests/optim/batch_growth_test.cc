#include "optim/batch_growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(std::string_view text) {
  try {
    parse_batch_growth(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(BatchGrowth, MultipliesTheBatchAtItsEpochs) {
  const BatchGrowth growth = parse_batch_growth("2@10,20");
  EXPECT_EQ(describe(growth), "2@10,20");
  EXPECT_EQ(batch_in(growth, 64, 0), 64U);
  EXPECT_EQ(batch_in(growth, 64, 9), 64U);
  EXPECT_EQ(batch_in(growth, 64, 10), 128U);
  EXPECT_EQ(batch_in(growth, 64, 20), 256U);
  EXPECT_EQ(batch_in(growth, 64, 1000), 256U);
  EXPECT_EQ(batch_in(parse_batch_growth(""), 64, 1000), 64U);
}

TEST(BatchGrowth, WhatIsNoneIsRefusedWithTheForm) {
  for (const char* text : {"2", "2@", "@3", "1@3", "0@3", "1001@3", "2@0", "2@3,3", "2@4,3", "2@x",
                           "2@3,", "x@3", "-2@3", "2.5@3", "2@1,2,3,4,5,6,7,8,9", " 2@3"})
    EXPECT_THAT(refusal(text), AllOf(HasSubstr(text), HasSubstr("2@10,20"))) << text;
}

TEST(BatchGrowth, StepsAreThoseOfTheEpochs) {
  const Epochs epochs{100, 8, parse_batch_growth("3@2,4")};
  EXPECT_EQ(epochs.steps_in(0), Step(13));
  EXPECT_EQ(epochs.steps_in(2), Step(5));
  EXPECT_EQ(epochs.steps_in(4), Step(2));
  EXPECT_EQ(epochs.steps_of(0), Step(0));
  EXPECT_EQ(epochs.steps_of(1), Step(13));
  EXPECT_EQ(epochs.steps_of(3), Step(13 + 13 + 5));
  EXPECT_EQ(epochs.steps_of(6), Step(13 + 13 + 5 + 5 + 2 + 2));
  EXPECT_EQ((Epochs{100, 8, {}}.steps_of(6)), Step(78));
}

TEST(BatchGrowth, SchedulesSeeThePlaceThatARunWithoutItHas) {
  const Epochs plain{100, 8, {}};
  const Epochs grown{100, 8, parse_batch_growth("3@2,4")};
  for (std::uint64_t t = 0; t < 200; ++t) EXPECT_EQ(plain.place_of(Step(t)), Step(t));
  for (std::uint64_t e = 0; e < 8; ++e)
    EXPECT_EQ(grown.place_of(grown.steps_of(e)), plain.steps_of(e)) << "epoch " << e;
  for (std::uint64_t t = 0; t < 60; ++t)
    EXPECT_LT(grown.place_of(Step(t)), grown.place_of(Step(t + 1)));
}

}  // namespace
}  // namespace shoal
