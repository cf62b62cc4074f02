#include "app/budget.h"

#include <fmt/core.h>

#include <cmath>

#include "base/error.h"
#include "base/parse.h"

namespace shoal {

TrainingBudget parse_budget(const std::string& text) {
  std::string_view unit = text;
  const double n = take_number<double>(unit).value_or(0);
  const bool number = std::isfinite(n) && n > 0;
  TrainingBudget budget;
  if (unit == "s") budget.seconds = n;
  if (unit == "m" || unit == "min") budget.seconds = 60 * n;
  if (unit == "h") budget.seconds = 3600 * n;
  if ((unit == "epochs" || unit == "epoch") && n >= 1 && n <= 1e6 && n == std::floor(n))
    budget.epochs = static_cast<std::uint64_t>(n);
  if (!number || (budget.seconds <= 0 && budget.epochs == 0) || budget.seconds > 1e7)
    throw ConfigError(
        fmt::format("--budget {}: take a time, as 60s, 5m or 1h, or whole epochs, as 5epochs",
                    text.empty() ? "\"\"" : text));
  return budget;
}

}  // namespace shoal
