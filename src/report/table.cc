// The table of a comparison: for people, and as CSV.
#include <fmt/core.h>

#include <cmath>

#include "report/words.h"

namespace shoal {
namespace {

enum class Best { None, Least, Most };
using Get = const Spread& (*)(const Contestant&);
using Text = std::string (*)(double);

std::string cell_of(const Spread& spread, Text text, std::size_t runs) {
  if (!spread.known()) return "-";
  std::string cell = text(spread.mean);
  if (spread.n > 1 && spread.deviation > 0) cell += fmt::format(" ± {}", text(spread.deviation));
  if (spread.n < runs) cell += fmt::format(" ({} of {})", spread.n, runs);
  return cell;
}

TableColumn column(const Comparison& c, std::string name, std::string help, Get get, Text text,
                   Best best) {
  TableColumn column{std::move(name), std::move(help), {}, {}};
  double winner = kUnknown;
  for (const Contestant& one : c.contestants) {
    const Spread& spread = get(one);
    column.cells.push_back(cell_of(spread, text, one.runs.size()));
    if (best == Best::None || spread.n < one.runs.size()) continue;
    const bool better = best == Best::Least ? spread.mean < winner : spread.mean > winner;
    if (!(winner == winner) || better) winner = spread.mean;
  }
  for (std::size_t i = 0; i < c.contestants.size(); ++i)
    if (best != Best::None && c.contestants.size() > 1 && get(c.contestants[i]).mean == winner)
      column.best.push_back(i);
  return column;
}

bool anybody(const Comparison& c, Get get) {
  for (const Contestant& one : c.contestants)
    if (get(one).known()) return true;
  return false;
}

std::string csv_text(std::string_view text) {
  std::string cell = "\"";
  for (const char ch : text) cell += ch == '"' ? std::string("\"\"") : std::string(1, ch);
  return cell + "\"";
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.10g}", value) : "";
}

}  // namespace

std::vector<TableColumn> table_of(const Comparison& c) {
  std::vector<TableColumn> columns;
  const auto add = [&](std::string name, std::string help, Get get, Text text, Best best) {
    if (anybody(c, get))
      columns.push_back(column(c, std::move(name), std::move(help), get, text, best));
  };
  TableColumn who{"system", "the recipe, and its differences from others here", {}, {}};
  for (const Contestant& one : c.contestants) who.cells.push_back(one.label);
  columns.push_back(std::move(who));
  if (c.target) {
    const std::string target = score_text(c, *c.target);
    add(
        "time to " + target, "of training, without evaluations, until the target was reached",
        [](const Contestant& one) -> const Spread& { return one.time_to_target_s; }, time_text,
        Best::Least);
    add(
        "bytes to " + target, "sent by a worker until then",
        [](const Contestant& one) -> const Spread& { return one.bytes_to_target; }, bytes_text,
        Best::Least);
  }
  add(
      "test accuracy", "at the end",
      [](const Contestant& one) -> const Spread& { return one.test_accuracy; }, percent_text,
      Best::Most);
  add(
      "test loss", "at the end",
      [](const Contestant& one) -> const Spread& { return one.test_loss; }, plain_text,
      Best::Least);
  add(
      "samples/s", "all workers together",
      [](const Contestant& one) -> const Spread& { return one.samples_per_s; }, plain_text,
      Best::Most);
  add(
      "time", "of training, without evaluations",
      [](const Contestant& one) -> const Spread& { return one.wall_s; }, time_text, Best::None);
  add(
      "sent", "by a worker, in total",
      [](const Contestant& one) -> const Spread& { return one.bytes; }, bytes_text, Best::Least);
  add(
      "staleness",
      "mean number of updates between the parameters that a push is based on and those that it "
      "changes",
      [](const Contestant& one) -> const Spread& { return one.staleness; }, plain_text, Best::None);
  add(
      "consensus error", "mean squared distance of the workers' models to the result, at the end",
      [](const Contestant& one) -> const Spread& { return one.consensus; }, plain_text, Best::None);
  return columns;
}

std::string csv_of(const Comparison& c) {
  std::string csv =
      "label,system,world,model,data,workers,servers,batch,runs,target,reached,"
      "time_to_target_s,time_to_target_s_sd,bytes_to_target,bytes_to_target_sd,"
      "test_accuracy,test_accuracy_sd,test_loss,test_loss_sd,train_loss,train_loss_sd,"
      "steps,wall_s,wall_s_sd,samples_per_s,samples_per_s_sd,bytes_sent_per_worker,"
      "compute_s,overlap_s,wait_s,update_s,rest_s,staleness_mean,consensus_error,lost_nodes\n";
  for (const Contestant& one : c.contestants) {
    const Summary& s = one.summary();
    const auto both = [](const Spread& spread) {
      return csv_number(spread.mean) + "," + (spread.n > 1 ? csv_number(spread.deviation) : "");
    };
    csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{},", csv_text(one.label), csv_text(s.system),
                       s.world, csv_text(s.model), csv_text(s.data), s.workers, s.servers, s.batch,
                       one.runs.size(), c.target ? csv_number(*c.target) : "",
                       c.target ? std::to_string(one.time_to_target_s.n) : "");
    csv += fmt::format("{},{},{},{},{},{},{},{},", both(one.time_to_target_s),
                       both(one.bytes_to_target), both(one.test_accuracy), both(one.test_loss),
                       both(one.train_loss), csv_number(one.steps.mean), both(one.wall_s),
                       both(one.samples_per_s));
    const TimeShares& t = one.time;
    csv += fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_number(one.bytes.mean),
                       csv_number(t.compute + t.overlap), csv_number(t.overlap), csv_number(t.wait),
                       csv_number(t.update), csv_number(t.rest), csv_number(one.staleness.mean),
                       csv_number(one.consensus.mean), csv_number(one.lost_nodes.mean));
  }
  return csv;
}

}  // namespace shoal
