// Reads the files of `shoal train` runs that a benchmark makes.
#pragma once

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace shoal {

std::string content_of(const std::filesystem::path& file);

// The number after "key": in a line of our JSON.
double field(const std::string& line, const std::string& key);

// The steps of node 0.
struct RunSteps {
  double step_s = 0;             // median
  double mean_s = 0;             // of a step; gives the rate
  double gradient_s = 0;         // of the median step
  std::vector<double> each_s{};  // the measured steps
  double first_loss = 0, last_loss = 0;

  bool learned() const {
    return std::isfinite(first_loss) && std::isfinite(last_loss) && last_loss < first_loss;
  }
  // The loss has neither fallen nor diverged yet.
  bool stood() const { return std::abs(last_loss - first_loss) < 0.01 * first_loss; }
};

// Reads metrics.jsonl of the folder, without the first `warmup` and the last `cooldown` steps.
// Throws Error if there are too few.
RunSteps read_steps(const std::filesystem::path& folder, std::size_t warmup,
                    std::size_t cooldown = 0);

}  // namespace shoal
