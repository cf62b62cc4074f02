#include "train/run_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace shoal {
namespace {

std::string below(const std::string& folder, std::string_view name) {
  return folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
}

std::vector<Scalar> scalars_of(const StepMetrics& m) {
  std::vector<Scalar> scalars;
  const auto add = [&](const char* tag, double value) {
    if (!std::isnan(value)) scalars.push_back({tag, static_cast<float>(value)});
  };
  add("train/loss", m.loss);
  add("train/accuracy", m.accuracy);
  add("train/eta", m.eta);
  add("train/staleness", m.staleness);
  add("time/compute_s", m.compute_s);
  add("time/wait_s", m.wait_s);
  add("network/bytes_sent", static_cast<double>(m.bytes_sent.value()));
  return scalars;
}

}  // namespace

Task<void> write_whole(Files& files, std::string path, std::string text, NodeId writer) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, writer);
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);
  co_await files.write(temporary, const_buf(std::span<const char>(text)));
  co_await files.sync(temporary);
  co_await files.rename(temporary, path);
  co_await files.sync(folder);
}

RunFolder::RunFolder(Files& files, RunFolderOptions options)
    : files_(files), options_(std::move(options)), metrics_(files, path("metrics.jsonl")) {}

std::string RunFolder::path(std::string_view name) const { return below(options_.folder, name); }

Task<void> RunFolder::write_config(std::vector<ConfigEntry> entries) {
  const std::string text = config_text(entries);
  co_await write_whole(files_, path("config.toml"), text, options_.writer);
}

Task<void> RunFolder::add(const StepMetrics& metrics) {
  const StepMetrics copy = metrics;  // the caller's may be destroyed before the disk is done
  co_await metrics_.add(copy);
  if (!options_.events || !own_events_) co_return;
  const std::vector<Scalar> scalars = scalars_of(copy);
  co_await add(copy.time, copy.step, scalars);
}

Task<void> RunFolder::add(Time now, Step step, std::span<const Scalar> scalars) {
  if (!options_.events || !own_events_) co_return;
  if (!events_) events_.emplace(files_, options_.folder, options_.host, options_.wall_start_s, now);
  co_await events_->add(now, step, scalars);
}

Task<void> RunFolder::flush() {
  co_await metrics_.close();
  if (events_) co_await events_->close();
}

Task<void> RunFolder::write_trace(const Trace& trace) {
  std::string json = trace.to_json();
  co_await write_whole(files_, path("trace.json"), std::move(json), options_.writer);
}

Task<std::string> RunFolder::read_summary() {
  const std::vector<std::string> names = co_await files_.list(options_.folder);
  std::string text;
  if (std::ranges::find(names, "summary.json") == names.end()) co_return text;
  const std::vector<std::byte> bytes = co_await files_.read(path("summary.json"));
  text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  co_return text;
}

Task<void> RunFolder::write_summary(const Summary& summary) {
  std::string json = to_json(summary);
  co_await write_whole(files_, path("summary.json"), std::move(json), options_.writer);
}

}  // namespace shoal
