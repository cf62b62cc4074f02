// Groups of workers that are one worker to the servers: who is in which, and who speaks for it.
// Pure functions of the view, so that all come to the same without a word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types.h"
#include "runtime/view.h"

namespace shoal {

struct Groups {
  enum class By : std::uint8_t {
    Nobody,  // each worker is one for itself
    Host,    // all workers of a host
    Size,    // so many nodes in a row, whoever of them is there
  };
  By by = By::Nobody;
  std::uint32_t size = 1;  // of Size

  bool operator==(const Groups&) const = default;
};
Groups parse_groups(std::string_view text);  // "off", "host", "4"; throws ConfigError
std::string to_string(const Groups& groups);

// The first of the worker's group that is in the view; itself, if it is not in the view.
NodeId leader_of(const View& view, const Groups& groups, NodeId worker);
// Whether it is a worker of the view, and speaks for its group.
bool leads(const View& view, const Groups& groups, NodeId node);
// Workers of the view for which it speaks; 1 of who speaks for nobody.
std::uint64_t members_of(const View& view, const Groups& groups, NodeId leader);

// How many there are when nobody is missing.
std::uint64_t count_groups(const Groups& groups, std::uint64_t workers, std::uint64_t hosts);

}  // namespace shoal
