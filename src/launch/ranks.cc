#include "launch/ranks.h"

#include <fmt/format.h>

#include <optional>

#include "base/error.h"
#include "base/parse.h"

namespace shoal {
namespace {

constexpr std::uint32_t kMost = 100'000;

std::optional<std::uint32_t> whole_number(std::string_view text) {
  return parse_number<std::uint32_t>(text, {1, kMost});
}

}  // namespace

RankCount parse_rank_count(const std::string& flag, const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string_view all = text;
  const auto least = colon == std::string::npos ? std::optional<std::uint32_t>(1)
                                                : whole_number(all.substr(0, colon));
  const auto most = whole_number(colon == std::string::npos ? all : all.substr(colon + 1));
  if (!least || !most)
    throw ConfigError(fmt::format("{} {}: take an integer from 1 to {}, or MIN:MAX of such numbers",
                                  flag, text, kMost));
  if (*least > *most)
    throw ConfigError(fmt::format("{} {}: the minimum {} is above the maximum {}; write {}:{}",
                                  flag, text, *least, *most, *most, *least));
  return {*least, *most};
}

std::string to_string(const RankCount& count) {
  return count.least == 1 ? std::to_string(count.most)
                          : fmt::format("{}:{}", count.least, count.most);
}

}  // namespace shoal
