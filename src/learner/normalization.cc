#include "learner/normalization.h"

#include <fmt/core.h>

#include <charconv>

#include "base/error.h"

namespace shoal {

BatchNorm parse_batch_norm(std::string_view text) {
  constexpr std::string_view kGroup = "group:";
  if (text == "local") return {};
  if (text == "sync") return {BatchNorm::Over::Workers, 0};
  if (!text.starts_with(kGroup))
    throw ConfigError(fmt::format("--batch-norm {}: take local, group:K or sync", text));
  const std::string_view digits = text.substr(kGroup.size());
  BatchNorm norm{BatchNorm::Over::Group, 0};
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, norm.group);
  if (error != std::errc{} || stopped != end || norm.group < 2)
    throw ConfigError(
        fmt::format("--batch-norm {}: a group has 2 samples at least, as in group:32", text));
  return norm;
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
