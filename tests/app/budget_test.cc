#include "app/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/train_flags.h"
#include "app/train_run.h"
#include "base/error.h"

namespace shoal {
namespace {

using testing::HasSubstr;

template <class F>
std::string refusal_of(const F& f) {
  try {
    f();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Budget, IsATimeOrEpochs) {
  EXPECT_DOUBLE_EQ(parse_budget("60s").seconds, 60);
  EXPECT_DOUBLE_EQ(parse_budget("0.5min").seconds, 30);
  EXPECT_DOUBLE_EQ(parse_budget("5m").seconds, 300);
  EXPECT_DOUBLE_EQ(parse_budget("1h").seconds, 3600);
  EXPECT_EQ(parse_budget("5epochs").epochs, 5U);
  EXPECT_EQ(parse_budget("1epoch").epochs, 1U);
  for (const char* bad : {"", "60", "s", "-1s", "0s", "nans", "infs", "1e300h", "2.5epochs",
                          "0epochs", "60 s", "5steps", "5ms"})
    EXPECT_THAT(refusal_of([&] { parse_budget(bad); }), HasSubstr("as 60s")) << bad;
}

TrainFlags gathered(TrainFlags flags, const std::vector<std::string>& given) {
  const std::vector<Option> options = train_options(flags);
  gather_flags(flags, options, given);
  check_flags(flags);
  return flags;
}

TEST(Budget, ATimeEndsWhatNothingElseEnds) {
  TrainFlags flags;
  flags.budget = "60s";
  const TrainFlags alone = gathered(flags, {"--budget"});
  EXPECT_TRUE(ends_by_time(alone));
  EXPECT_EQ(alone.schedule, "constant");
  const TrainFlags both = gathered(flags, {"--budget", "--epochs"});
  EXPECT_FALSE(ends_by_time(both));
  EXPECT_EQ(both.epochs, 5U);
  EXPECT_EQ(both.schedule, "cosine");
}

TEST(Budget, EpochsAreEpochs) {
  TrainFlags flags;
  flags.budget = "7epochs";
  const TrainFlags by_epochs = gathered(flags, {"--budget"});
  EXPECT_EQ(by_epochs.epochs, 7U);
  EXPECT_FALSE(ends_by_time(by_epochs));
  EXPECT_THAT(refusal_of([&] {
                gathered(flags, {"--budget", "--steps"});
              }),
              HasSubstr("take one of them"));
}

TEST(Budget, AScheduleThatFollowsTheLengthNeedsOne) {
  TrainFlags flags;
  flags.budget = "60s";
  for (const char* schedule : {"cosine", "poly:2", "warmup:5%+constant"}) {
    flags.schedule = schedule;
    EXPECT_THAT(refusal_of([&] {
                  gathered(flags, {"--budget", "--schedule"});
                }),
                HasSubstr("add --epochs or --steps"))
        << schedule;
  }
  flags.schedule = "step:30:0.1";
  EXPECT_EQ(gathered(flags, {"--budget", "--schedule"}).schedule, "step:30:0.1");
}

}  // namespace
}  // namespace shoal
