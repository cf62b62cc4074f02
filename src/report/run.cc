#include "report/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

double number(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it == json.end() || it->is_null() ? kUnknown : it->get<double>();
}

double number_or_0(const Json& json, const char* key) {
  const double value = number(json, key);
  return value == value ? value : 0;
}

StepLine step_from(const Json& json) {
  StepLine line;
  line.node = NodeId(json.at("node").get<std::uint32_t>());
  line.step = json.at("step").get<std::uint64_t>();
  line.clock_s = json.at("time_s").get<double>();
  line.loss = number(json, "loss");
  line.samples = json.value("samples", line.samples);
  line.compute_s = number_or_0(json, "compute_s");
  line.overlap_s = number_or_0(json, "overlap_s");
  line.wait_s = number_or_0(json, "wait_s");
  line.update_s = number_or_0(json, "update_s");
  line.bytes_sent = number_or_0(json, "bytes_sent");
  return line;
}

void parse_steps(std::string_view text, const std::string& file, FinishedRun& run) {
  std::size_t bad = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    try {
      run.steps.push_back(step_from(Json::parse(line)));
    } catch (const Json::exception&) {
      ++bad;
    }
  }
  if (bad > 0 && run.steps.empty())
    throw DataError(fmt::format("{}: none of its {} lines is a step", file, bad));
  if (bad > 0)
    run.warnings.push_back(fmt::format("{}: {} lines are incomplete and were ignored", file, bad));
  std::ranges::stable_sort(run.steps, {}, &StepLine::clock_s);
}

// Tracks of communication have numbers from here on (train/trace.cc).
constexpr std::uint64_t kCommunication = 1001;

void parse_trace(std::string_view text, const std::string& file, FinishedRun& run) {
  if (text.empty()) return;
  try {
    const Json json = Json::parse(text);
    for (const Json& event : json.at("traceEvents")) {
      if (event.at("ph") != "X" || event.at("tid").get<std::uint64_t>() < kCommunication) continue;
      TraceBar bar;
      bar.node = NodeId(event.at("pid").get<std::uint32_t>());
      event.at("name").get_to(bar.name);
      bar.begin_s = event.at("ts").get<double>() * 1e-6;
      bar.end_s = bar.begin_s + event.at("dur").get<double>() * 1e-6;
      if (bar.name != "wait") run.trace.push_back(std::move(bar));
    }
  } catch (const Json::exception& error) {
    run.trace.clear();
    run.warnings.push_back(
        fmt::format("{}: ignored, because it is not a timeline: {}", file, error.what()));
  }
}

}  // namespace

double FinishedRun::trained_s(double clock_s) const {
  double time = clock_s - summary.begin_s;
  for (const EvaluationRow& row : summary.evaluations)
    if (row.clock_s <= clock_s) time -= row.eval_s;
  return std::max(0.0, time);
}

FinishedRun parse_run(const std::string& folder, const RunTexts& texts) {
  const auto path = [&](const char* name) { return fmt::format("{}/{}", folder, name); };
  FinishedRun run;
  run.folder = folder;
  if (texts.summary.empty())
    throw DataError(fmt::format(
        "{}: {}", folder,
        texts.config.empty() && texts.metrics.empty()
            ? "not the folder of a run: there is no summary.json; `shoal train --out` makes one"
            : "the run has not ended: there is no summary.json; continue it with shoal train "
              "--resume"));
  run.summary = parse_summary(texts.summary, path("summary.json"));
  if (!texts.config.empty()) run.config = parse_config(texts.config, path("config.toml"));
  parse_steps(texts.metrics, path("metrics.jsonl"), run);
  parse_trace(texts.trace, path("trace.json"), run);
  return run;
}

}  // namespace shoal
