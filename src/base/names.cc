#include "base/names.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/nearest.h"

namespace shoal {

void refuse_name(std::string_view what, std::string_view text,
                 std::span<const std::string_view> known) {
  throw ConfigError(
      fmt::format("{} '{}' is not known. {}", what, text,
                  suggest(text, std::vector<std::string>(known.begin(), known.end()))));
}

}  // namespace shoal
