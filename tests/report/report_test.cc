#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "report/comparison.h"
#include "report/curves.h"
#include "report/page.h"
#include "report/words.h"
#include "runs.h"

namespace shoal {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

Comparison compared(const std::vector<FinishedRun>& runs) {
  return compare_runs(runs, std::nullopt);
}

std::string error_of_texts(const RunTexts& texts) {
  try {
    parse_run("runs/a", texts);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

// ---- a run

TEST(FinishedRun, IsWhatItsFilesSay) {
  const FinishedRun run = made_up({});
  EXPECT_EQ(run.summary.system, "pytorch");
  EXPECT_EQ(run.summary.evaluations.size(), 3U);
  EXPECT_THAT(run.steps, SizeIs(60));
  EXPECT_TRUE(run.warnings.empty());
  EXPECT_DOUBLE_EQ(run.trained_s(5), 0);
  EXPECT_DOUBLE_EQ(run.trained_s(15), 10) << "before the first evaluation";
  EXPECT_DOUBLE_EQ(run.trained_s(17), 11) << "which took one second";
}

TEST(FinishedRun, ALineThatWasCutOffIsLeftOutWithAWarning) {
  const std::string summary = to_json(summary_of({}));
  const std::string whole = metrics_of({});
  const std::string torn = whole.substr(0, whole.size() - 30);
  RunTexts texts;
  texts.summary = summary;
  texts.metrics = torn;
  const FinishedRun run = parse_run("runs/a", texts);
  EXPECT_THAT(run.steps, SizeIs(59));
  ASSERT_THAT(run.warnings, SizeIs(1));
  EXPECT_THAT(run.warnings[0], HasSubstr("runs/a/metrics.jsonl: 1 lines"));
}

TEST(FinishedRun, WhatIsNoRunIsRefused) {
  RunTexts texts;
  EXPECT_THAT(error_of_texts(texts), HasSubstr("runs/a: not the folder of a run"));
  texts.config = "seed = 1\n";
  EXPECT_THAT(error_of_texts(texts), HasSubstr("the run has not ended"));
  texts.summary = "{\"system\": ";
  EXPECT_THAT(error_of_texts(texts), HasSubstr("runs/a/summary.json"));
  texts.summary = "{\"system\": 3}";
  EXPECT_THAT(error_of_texts(texts), HasSubstr("not the summary of a run"));
  const std::string summary = to_json(summary_of({}));
  texts.summary = summary;
  texts.metrics = "these are\nno steps\n";
  EXPECT_THAT(error_of_texts(texts), HasSubstr("none of its 2 lines"));
}

TEST(FinishedRun, ATimelineThatCannotBeReadIsLeftOut) {
  const std::string summary = to_json(summary_of({}));
  RunTexts texts;
  texts.summary = summary;
  texts.trace = "[1, 2";
  const FinishedRun run = parse_run("runs/a", texts);
  EXPECT_THAT(run.trace, SizeIs(0));
  ASSERT_THAT(run.warnings, SizeIs(1));
  EXPECT_THAT(run.warnings[0], HasSubstr("trace.json"));
}

// ---- comparisons

TEST(Comparison, SeedsAreOneContestant) {
  const std::vector<FinishedRun> runs = {made_up({.seed = 1, .rate = 1}),
                                         made_up({.seed = 2, .rate = 2}),
                                         made_up({.system = "easgd", .seed = 1})};
  const Comparison c = compared(runs);
  ASSERT_THAT(c.contestants, SizeIs(2));
  EXPECT_EQ(c.contestants[0].label, "pytorch");
  EXPECT_THAT(c.contestants[0].runs, SizeIs(2));
  const Spread& accuracy = c.contestants[0].test_accuracy;
  EXPECT_NEAR(accuracy.mean, (0.75 + 6.0 / 7) / 2, 1e-9);
  EXPECT_NEAR(accuracy.deviation, (6.0 / 7 - 0.75) / std::sqrt(2.0), 1e-9);
  const CurvePoint& end = c.contestants[0].score.back();
  EXPECT_NEAR(end.low, 0.75, 1e-9);
  EXPECT_NEAR(end.high, 6.0 / 7, 1e-9);
}

TEST(Comparison, TheSameSeedTwiceIsTwoContestants) {
  const std::vector<FinishedRun> runs = {made_up({}, "runs/a"), made_up({}, "runs/b")};
  const Comparison c = compared(runs);
  ASSERT_THAT(c.contestants, SizeIs(2));
  EXPECT_NE(c.contestants[0].label, c.contestants[1].label);
  EXPECT_THAT(c.contestants[1].label, HasSubstr("runs/b"));
}

TEST(Comparison, TheFirstAtTheTargetWins) {
  // 0.5 and 2/3 after one epoch, 2/3 and 0.8 after two, 0.75 and 6/7 after three.
  const std::vector<FinishedRun> runs = {
      made_up({.system = "fast", .rate = 1, .epoch_s = 1, .bytes = 100}),
      made_up({.system = "frugal", .rate = 2, .epoch_s = 10, .bytes = 10})};
  const Comparison c = compare_runs(runs, 2.0 / 3);
  ASSERT_TRUE(c.by_time && c.by_bytes);
  EXPECT_EQ(c.by_time->who, 0U);
  EXPECT_NEAR(c.by_time->value, 2, 1e-9);
  EXPECT_NEAR(c.by_time->ratio, 5, 1e-9);
  EXPECT_EQ(c.by_bytes->who, 1U);
  EXPECT_NEAR(c.by_bytes->value, 10, 1e-9);
  const std::vector<std::string> verdict = verdict_of(c);
  EXPECT_THAT(verdict[0], HasSubstr("fast is first at 66.7 % test accuracy, after 2 s, 5.0 times"));
  EXPECT_THAT(verdict[1], HasSubstr("frugal needs the fewest bytes for it, 10 B"));
}

TEST(Comparison, BetweenTwoEvaluationsTheTargetIsOnAStraightLine) {
  const std::vector<CurvePoint> curve = {{.time_s = 10, .bytes = 1, .value = 0.5},
                                         {.time_s = 20, .bytes = 3, .value = 0.7}};
  const std::optional<CurvePoint> at = first_reached(curve, 0.6, true);
  ASSERT_TRUE(at);
  EXPECT_THAT(at->time_s, DoubleNear(15, 1e-9));
  EXPECT_THAT(at->bytes, DoubleNear(2, 1e-9));
  EXPECT_DOUBLE_EQ(first_reached(curve, 0.4, true)->time_s, 10) << "nothing is known before";
  EXPECT_FALSE(first_reached(curve, 0.8, true));
  EXPECT_DOUBLE_EQ(first_reached(curve, 0.6, false)->time_s, 10) << "a loss falls";
}

TEST(Comparison, WithoutATargetItIsWhatHalfOfThemReached) {
  const std::vector<FinishedRun> runs = {made_up({.system = "a", .rate = 0.1}),
                                         made_up({.system = "b", .rate = 1}),
                                         made_up({.system = "c", .rate = 4})};
  const Comparison c = compared(runs);
  EXPECT_NEAR(*c.target, 0.75, 1e-9);
  EXPECT_EQ(c.contestants[0].time_to_target_s.n, 0U);
  EXPECT_THAT(verdict_of(c), testing::Contains(HasSubstr("Not there yet: a.")));
}

TEST(Comparison, SeedsThatDifferMoreThanTheSystemsMakeNoClearWinner) {
  const std::vector<FinishedRun> runs = {made_up({.system = "a", .seed = 1, .epoch_s = 10}),
                                         made_up({.system = "a", .seed = 2, .epoch_s = 14}),
                                         made_up({.system = "b", .seed = 1, .epoch_s = 11}),
                                         made_up({.system = "b", .seed = 2, .epoch_s = 15})};
  const Comparison c = compared(runs);
  EXPECT_EQ(c.by_time->who, 0U);
  EXPECT_FALSE(c.by_time->clear);
  EXPECT_THAT(verdict_of(c)[0], HasSubstr("within what seeds differ by"));
}

TEST(Comparison, OtherTasksAreSaidToBe) {
  FinishedRun other = made_up({.system = "easgd"});
  other.summary.model = "mlp";
  other.summary.workers = 4;
  const std::vector<FinishedRun> runs = {made_up({}), other};
  const Comparison c = compared(runs);
  EXPECT_THAT(c.notes, testing::Contains(HasSubstr("have different tasks")));
  EXPECT_THAT(c.notes, testing::Contains(HasSubstr("different numbers of workers: 2, 4")));
}

TEST(Comparison, OfRunsThatOnlyTellTimesTheRateCounts) {
  std::vector<FinishedRun> runs = {made_up({.system = "a", .epoch_s = 2}),
                                   made_up({.system = "b", .epoch_s = 1})};
  for (FinishedRun& run : runs) {
    run.summary.evaluations.clear();
    run.summary.test_accuracy = kUnknown;
    for (StepLine& step : run.steps) step.loss = kUnknown;
  }
  const Comparison c = compared(runs);
  EXPECT_FALSE(c.target);
  EXPECT_TRUE(c.contestants[0].loss.empty());
  EXPECT_THAT(verdict_of(c)[0], HasSubstr("b is fastest, 1 ms a sample, 2.0 times as fast as a."));
}

TEST(Comparison, NeedsARun) { EXPECT_THROW(compare_runs({}, std::nullopt), ConfigError); }

TEST(Curves, CostIsCountedByTimeEpochsAndBytes) {
  const std::vector<FinishedRun> runs = {made_up({.bytes = 1000})};
  const Comparison c = compared(runs);
  const CurvePoint& end = c.contestants[0].loss.back();
  EXPECT_NEAR(end.time_s, 30, 1e-3);
  EXPECT_NEAR(end.epochs, 3, 1e-9);
  EXPECT_NEAR(end.bytes, 3000, 1e-9);
  EXPECT_DOUBLE_EQ(c.contestants[0].time.overlap, 30.0 / 8);
  EXPECT_DOUBLE_EQ(c.contestants[0].time.compute, 30.0 / 2 - 30.0 / 8);
  EXPECT_DOUBLE_EQ(c.contestants[0].time.rest, 30.0 / 4);
  EXPECT_THAT(c.contestants[0].excerpt.rows, ElementsAre("worker 0", "worker 1"));
  EXPECT_FALSE(c.contestants[0].excerpt.bars.empty());
}

// ---- pages and tables

TEST(Report, NamesStayText) {
  const std::string evil = "<script>alert(1)</script>\"&'";
  FinishedRun run = made_up({}, "runs/" + evil);
  run.summary.system = run.summary.model = evil;
  run.summary.recipe = {{evil, evil}};
  run.warnings = {evil};
  const std::vector<FinishedRun> runs = {run};
  const std::string page = page_of(compared(runs));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;&#39;"));
  EXPECT_THAT(page, HasSubstr(R"("label":"\u003cscript>alert(1)\u003c/script>\"&'")"));
}

TEST(Report, ThePageHasItsPartsAndAsksNobody) {
  const std::vector<FinishedRun> runs = {made_up({})};
  const std::string page = page_of(compared(runs));
  EXPECT_THAT(page, HasSubstr("Chart.js v3"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(page, HasSubstr("lenet on fashion-mnist"));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  for (const char* link : {"src=\"", "href=\"", "@import", "url("})
    EXPECT_THAT(page.substr(0, page.find("Chart.js v3")), Not(HasSubstr(link)));
}

TEST(Report, TheTableIsForOtherPrograms) {
  std::vector<FinishedRun> runs = {made_up({})};
  runs[0].summary.system = "say \"hi\", x";
  const std::string csv = csv_of(compared(runs));
  const auto commas = [](std::string_view line) { return std::ranges::count(line, ','); };
  const std::size_t end = csv.find('\n');
  EXPECT_THAT(csv, HasSubstr("\n\"say \"\"hi\"\", x\",\"say \"\"hi\"\", x\",sim,\"lenet\","));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 2);
  EXPECT_EQ(commas(csv.substr(end)), commas(csv.substr(0, end)) + 2) << "two are in the names";
}

TEST(Report, TextFitsItsTerminal) {
  const std::vector<FinishedRun> runs = {made_up({}), made_up({.system = "easgd", .rate = 3})};
  const std::string text = text_of(compared(runs), 60);
  EXPECT_THAT(text, HasSubstr("lenet on fashion-mnist"));
  EXPECT_THAT(text, HasSubstr("easgd"));
  EXPECT_THAT(text, HasSubstr("++"));
  const std::size_t table = text.find("\nsystem");
  ASSERT_NE(table, std::string::npos);
  EXPECT_LE(text.find('\n', table + 1) - table, 61U);
}

}  // namespace
}  // namespace shoal
