// shoal report: makes one page of finished runs for any browser, and a table beside it.
#include <fmt/core.h>

#include <cmath>

#include "app/train_run.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/run_report.h"
#include "report/words.h"

namespace shoal {
namespace {

struct ReportFlags {
  std::vector<std::string> runs;
  std::string out = "report.html";
  bool text = false;
  double target = 0;
};

ExitCode run_report(const ReportFlags& o) {
  if (o.runs.empty())
    throw ConfigError("name the folders of finished runs, as in: shoal report runs/*");
  if (o.target < 0 || !std::isfinite(o.target))
    throw ConfigError(
        fmt::format("--target {}: take an accuracy from 0 to 1, or a loss", o.target));
  std::vector<FinishedRun> runs;
  for (const std::string& folder : o.runs) runs.push_back(read_run(folder));
  const Comparison comparison =
      compare_runs(runs, o.target > 0 ? std::optional(o.target) : std::nullopt);
  fmt::print("{}", text_of(comparison, screen_of_stdout().width));
  if (!o.text) write_report(comparison, o.out);
  return ExitCode::kOk;
}

}  // namespace

Command report_command() {
  auto o = std::make_shared<ReportFlags>();
  return {
      .name = "report",
      .summary = "make one page of finished runs: curves, costs, where the time went, the winner",
      .options = {{"runs", "folders of finished runs, live or simulated", &o->runs},
                  {"--out", "the page; table.csv is written beside it", &o->out},
                  {"--target",
                   "the test accuracy (0 to 1) or loss to reach; 0: the best that half of "
                   "them reached",
                   &o->target},
                  {"--text", "only print, write no files", &o->text}},
      .run = [o] { return run_report(*o); }};
}

}  // namespace shoal
