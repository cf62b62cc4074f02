#include "learner/normalization.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/parse.h"

namespace shoal {

BatchNorm parse_batch_norm(std::string_view text) {
  constexpr std::string_view kGroup = "group:";
  if (text == "local") return {};
  if (text == "sync") return {BatchNorm::Over::Workers, 0};
  if (!text.starts_with(kGroup))
    throw ConfigError(fmt::format("--batch-norm {}: take local, group:K or sync", text));
  const auto group = parse_number<std::uint32_t>(text.substr(kGroup.size()), {.least = 2});
  if (!group)
    throw ConfigError(
        fmt::format("--batch-norm {}: a group has at least 2 samples, as in group:32", text));
  return {BatchNorm::Over::Group, *group};
}

std::string to_string(const BatchNorm& norm) {
  switch (norm.over) {
    case BatchNorm::Over::Local: break;
    case BatchNorm::Over::Group: return fmt::format("group:{}", norm.group);
    case BatchNorm::Over::Workers: return "sync";
  }
  return "local";
}

}  // namespace shoal
