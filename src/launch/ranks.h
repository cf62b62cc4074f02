// The number of processes of a job: "4", or "2:8" for at least 2 and at most 8.
#pragma once

#include <cstdint>
#include <string>

namespace shoal {

struct RankCount {
  std::uint32_t least = 1;  // with fewer the job waits
  std::uint32_t most = 1;   // the number to start

  bool operator==(const RankCount&) const = default;
};

// `flag` is for messages. Throws ConfigError.
RankCount parse_rank_count(const std::string& flag, const std::string& text);
std::string to_string(const RankCount& count);

}  // namespace shoal
