// shoal bench: measures, verifies what it measured, and prints targets and peers beside it.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "bench/sim_bench.h"
#include "cli/command.h"

namespace shoal {
namespace {

struct Options {
  double scale = 1;
  std::int64_t repeats = 5;
  std::string json;
  bool markdown = false;
};

void write_json(const std::string& path, const std::vector<BenchRow>& rows) {
  nlohmann::json all = nlohmann::json::array();
  for (const BenchRow& row : rows)
    all.push_back({{"case", row.name},
                   {"ours", row.ours},
                   {"unit", row.unit},
                   {"target", row.target},
                   {"verified", row.verified},
                   {"note", row.note}});
  std::ofstream file(path);
  file << all.dump(2) << '\n';
  if (!file.flush())
    throw DataError(fmt::format("cannot write '{}'; is the folder there and writable?", path));
}

std::string target_of(const BenchRow& row) {
  if (row.target <= 0) return "";
  return fmt::format("{} {:.4g}", row.higher_is_better ? ">=" : "<=", row.target);
}

void print_table(const std::vector<BenchRow>& rows) {
  fmt::print("{:<34} {:>14} {:<12} {:>12}  {}\n", "case", "ours", "unit", "target", "how");
  for (const BenchRow& row : rows)
    fmt::print("{:<34} {:>14.0f} {:<12} {:>12}  {}{}\n", row.name, row.ours, row.unit,
               target_of(row), row.note, row.verified ? "" : "  WRONG RESULT");
}

void print_markdown(const std::vector<BenchRow>& rows) {
  fmt::print(
      "| case | ours | unit | target | how | result verified |\n|---|---|---|---|---|---|\n");
  for (const BenchRow& row : rows)
    fmt::print("| {} | {:.0f} | {} | {} | {} | {} |\n", row.name, row.ours, row.unit,
               target_of(row), row.note, row.verified ? "yes" : "NO");
}

ExitCode run_sim(const Options& o) {
  if (o.scale <= 0 || o.scale > 100)
    throw ConfigError(fmt::format("--scale {} is not in (0, 100]; 1 is a full run", o.scale));
  if (o.repeats < 1 || o.repeats > 1000)
    throw ConfigError(fmt::format("--repeats {} is not in 1..1000", o.repeats));
  const std::vector<BenchRow> rows = bench_sim(o.scale, static_cast<int>(o.repeats));
  if (o.markdown) {
    print_markdown(rows);
  } else {
    print_table(rows);
  }
  if (!o.json.empty()) write_json(o.json, rows);
  const bool verified = std::ranges::all_of(rows, &BenchRow::verified);
  return verified ? ExitCode::kOk : ExitCode::kCorrectness;
}

}  // namespace

Command bench_command() {
  auto o = std::make_shared<Options>();
  Command sim{.name = "sim",
              .summary = "the simulator: messages a second, memory of a node, a thousand nodes",
              .options = {{"--scale", "length of the runs; 0.01 is a smoke test", &o->scale},
                          {"--repeats", "runs of which the median counts", &o->repeats},
                          {"--json", "also write the rows to this file", &o->json},
                          {"--markdown", "print the table as Markdown", &o->markdown}},
              .run = [o] { return run_sim(*o); }};
  return {
      .name = "bench", .summary = "measures, and verifies what it measured", .subcommands = {sim}};
}

}  // namespace shoal
