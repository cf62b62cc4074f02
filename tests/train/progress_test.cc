#include "train/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal {
namespace {

using namespace std::chrono_literals;

// A run of 1000 steps, at ten steps of 64 samples a second.
ProgressNow after(Duration time) {
  ProgressNow now;
  now.time = Time(time);
  now.epoch = 1;
  now.epochs = 4;
  now.step = Step(static_cast<std::uint64_t>(time / 100ms));
  now.steps = Step(1000);
  now.loss = 0.12345;
  now.accuracy = 0.931;
  now.samples = now.step.value() * 64;
  now.compute_s = seconds(time) * 0.75;
  now.wait_s = seconds(time) * 0.25;
  now.bytes_sent = Bytes(now.step.value() * 1'000'000);
  return now;
}

TEST(Progress, OnATerminalOneLineIsRedrawn) {
  ProgressText text(Screen{true, 120});
  EXPECT_EQ(text.step(after(0s)), "\r\x1b[Kepoch 1/4  step 0/1000  loss 0.1235  accuracy 93.10 %");
  EXPECT_EQ(text.step(after(50ms)), "") << "ten times a second is enough";
  for (int i = 1; i <= 20; ++i) text.step(after(i * 500ms));
  EXPECT_EQ(text.step(after(10500ms)),
            "\r\x1b[Kepoch 1/4  step 105/1000  loss 0.1235  accuracy 93.10 %  640 samples/s  "
            "waiting 25 %  sent 105 MB  1:30 left");
}

TEST(Progress, ANarrowTerminalLeavesOutTheLeastImportant) {
  ProgressText text(Screen{true, 46});
  for (int i = 0; i <= 20; ++i) text.step(after(i * 500ms));
  EXPECT_EQ(text.step(after(10500ms)), "\r\x1b[Kstep 105/1000  loss 0.1235  1:30 left");
  ProgressText tiny(Screen{true, 0});
  EXPECT_LE(tiny.step(after(0s)).size(), 4U + 19);
}

TEST(Progress, OtherLinesTakeTheLiveOneAway) {
  ProgressText text(Screen{true, 40});
  EXPECT_EQ(text.line("hello"), "hello\n");
  text.step(after(0s));
  EXPECT_EQ(text.line("node 3 was lost"), "\r\x1b[Knode 3 was lost\n");
  text.step(after(1s));
  EXPECT_EQ(text.end(), "\r\x1b[K");
  EXPECT_EQ(text.end(), "");
}

TEST(Progress, ElsewhereLinesBecomeRarer) {
  ProgressText text(Screen{false, 80});
  std::vector<double> printed;
  for (int i = 0; i <= 20'000; ++i) {
    const std::string line = text.step(after(i * 100ms));
    if (line.empty()) continue;
    EXPECT_TRUE(line.ends_with('\n'));
    EXPECT_EQ(line.find('\r'), std::string::npos);
    printed.push_back(0.1 * i);
  }
  EXPECT_NEAR(printed[1] - printed[0], 1, 0.01);
  EXPECT_NEAR(printed[5] - printed[4], 1, 0.01);
  EXPECT_LT(printed.size(), 90U) << "in 33 minutes";
  EXPECT_NEAR(printed.back() - printed[printed.size() - 2], 60, 0.2);
}

TEST(Progress, AnEpochsEndIsAlwaysALine) {
  EpochRow row;
  row.epoch = 2;
  row.train_loss = 0.25;
  row.test_accuracy = 0.5;
  row.seconds = 12.34;
  ProgressText plain(Screen{false, 80});
  plain.step(after(0s));
  EXPECT_EQ(plain.epoch_end(row, 4),
            "epoch 2/4 done  loss 0.2500  test accuracy 50.00 %  12.3 s\n");
  ProgressText terminal(Screen{true, 80});
  terminal.step(after(0s));
  EXPECT_TRUE(terminal.epoch_end(row, 0).starts_with("\r\x1b[Kepoch 2 done"));
}

TEST(Progress, APauseDoesNotMoveTheTimeLeft) {
  ProgressText text(Screen{true, 200});
  for (int i = 0; i <= 20; ++i) text.step(after(i * 500ms));
  ProgressNow late = after(10500ms);
  late.time += 300s;  // a laptop was closed
  EXPECT_THAT(text.step(late), testing::HasSubstr("1:30 left"));
}

TEST(Progress, ARunSetBackCountsAnew) {
  ProgressText text(Screen{true, 200});
  for (int i = 0; i <= 20; ++i) text.step(after(i * 500ms));
  ProgressNow back = after(5s);
  back.time = Time(11s);
  EXPECT_THAT(text.step(back), testing::Not(testing::HasSubstr("left")));
}

TEST(Progress, NothingKnownIsNothingShown) {
  ProgressText text(Screen{true, 200});
  ProgressNow now;
  EXPECT_EQ(text.step(now), "\r\x1b[Kstep 0  loss -");
}

TEST(Progress, TheTableIsAligned) {
  EXPECT_EQ(epoch_table({}), "");
  const std::vector<EpochRow> rows = {{1, 2.3026, 0.1, 1.5, 0.5, 12345, 1.25},
                                      {10, 0.00001, 0.99999, kUnknown, kUnknown, kUnknown, 100}};
  EXPECT_EQ(epoch_table(rows),
            "epoch  train loss  train accuracy  test loss  test accuracy  samples/s  seconds\n"
            "    1      2.3026         10.00 %     1.5000        50.00 %      12.3k      1.2\n"
            "   10    1.00e-05        100.00 %          -              -          -    100.0\n");
}

TEST(Progress, NumbersAsPeopleReadThem) {
  EXPECT_EQ(short_count(0), "0");
  EXPECT_EQ(short_count(999), "999");
  EXPECT_EQ(short_count(999.6), "1.00k");
  EXPECT_EQ(short_count(12345), "12.3k");
  EXPECT_EQ(short_count(999'999), "1.00M");
  EXPECT_EQ(short_count(kUnknown), "?");
  EXPECT_EQ(short_bytes(Bytes(1'234'567'890)), "1.23 GB");
  EXPECT_EQ(short_bytes(Bytes(512)), "512 B");
  EXPECT_EQ(short_duration(41.6), "0:42");
  EXPECT_EQ(short_duration(3 * 3600 + 7 * 60 + 21), "3:07:21");
  EXPECT_EQ(short_duration(-1), "?");
  EXPECT_EQ(short_duration(1e300), "?");
}

}  // namespace
}  // namespace shoal
