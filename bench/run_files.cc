#include "bench/run_files.h"

#include <fmt/core.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "bench/command.h"

namespace shoal {

namespace fs = std::filesystem;

std::string content_of(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

double field(const std::string& line, const std::string& key) {
  const std::string mark = fmt::format("\"{}\":", key);
  const std::size_t at = line.find(mark);
  if (at == std::string::npos) throw Error(fmt::format("no '{}' in: {}", key, line));
  return std::strtod(line.c_str() + at + mark.size(), nullptr);
}

RunSteps read_steps(const fs::path& folder, std::size_t warmup, std::size_t cooldown) {
  RunSteps result;
  std::vector<double> steps, gradients, losses;
  std::istringstream lines(content_of(folder / "metrics.jsonl"));
  double before = 0;
  for (std::string line; std::getline(lines, line);) {
    if (field(line, "node") != 0) continue;
    const double now = field(line, "time_s");
    losses.push_back(field(line, "loss"));
    if (losses.size() > warmup) {
      steps.push_back(now - before);
      gradients.push_back(field(line, "compute_s"));
    }
    before = now;
  }
  if (steps.size() < 3 + cooldown)
    throw Error(fmt::format("a run of only {} steps", losses.size()));
  steps.resize(steps.size() - cooldown);
  gradients.resize(steps.size());
  result.step_s = median(steps);
  for (const double s : steps) result.mean_s += s / static_cast<double>(steps.size());
  result.each_s = steps;
  result.gradient_s = median(gradients);
  result.first_loss = losses.front();
  for (std::size_t i = losses.size() - 3; i < losses.size(); ++i) result.last_loss += losses[i] / 3;
  return result;
}

}  // namespace shoal
