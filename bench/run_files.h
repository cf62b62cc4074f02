// What runs of `shoal train` that a benchmark makes leave behind.
#pragma once

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace shoal {

std::string content_of(const std::filesystem::path& file);

// The number behind "key": in a line of JSON that we wrote ourselves.
double field(const std::string& line, const std::string& key);

// Of node 0.
struct RunSteps {
  double step_s = 0;             // median
  double mean_s = 0;             // of a step: what a rate is made of
  double gradient_s = 0;         // of the median
  std::vector<double> each_s{};  // those that count
  double first_loss = 0, last_loss = 0;

  bool learned() const {
    return std::isfinite(first_loss) && std::isfinite(last_loss) && last_loss < first_loss;
  }
  // Neither learned yet nor went astray.
  bool stood() const { return std::abs(last_loss - first_loss) < 0.01 * first_loss; }
};

// What metrics.jsonl of the folder says. Neither the first `warmup` steps count nor the last
// `cooldown`. Throws Error where there are too few.
RunSteps read_steps(const std::filesystem::path& folder, std::size_t warmup,
                    std::size_t cooldown = 0);

}  // namespace shoal
