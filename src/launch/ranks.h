// How many processes a job has, as people write it: "4", or "2:8" for at least 2 and at most 8.
#pragma once

#include <cstdint>
#include <string>

namespace shoal {

struct RankCount {
  std::uint32_t least = 1;  // with fewer the job waits
  std::uint32_t most = 1;   // so many are started

  bool operator==(const RankCount&) const = default;
};

// `flag` is what the message names. Throws ConfigError.
RankCount parse_rank_count(const std::string& flag, const std::string& text);
std::string to_string(const RankCount& count);

}  // namespace shoal
