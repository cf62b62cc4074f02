// How long a run may train: a text form for flags.
#pragma once

#include <cstdint>
#include <string>

namespace shoal {

// The length of training, without evaluations; one of the fields is 0.
struct TrainingBudget {
  double seconds = 0;
  std::uint64_t epochs = 0;
};
// "60s", "5m", "5min", "1h", "5epochs". Throws ConfigError.
TrainingBudget parse_budget(const std::string& text);

}  // namespace shoal
