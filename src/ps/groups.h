// Groups of workers that push and read as one worker. The first worker of a group in the view is
// its leader, which talks to the servers. Pure functions of the view, so that all members decide
// alike without messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "base/choice.h"
#include "base/types.h"
#include "runtime/view.h"

namespace shoal {
namespace groups {

struct Off {
  static constexpr std::string_view kName = "off";
  static constexpr std::string_view kHelp = "each worker pushes and reads alone";
  bool operator==(const Off&) const = default;

  bool together(const Member& a, const Member& b) const { return a.node == b.node; }
  std::uint64_t count(std::uint64_t workers, std::uint64_t /*hosts*/) const { return workers; }
};

struct Host {
  static constexpr std::string_view kName = "host";
  static constexpr std::string_view kHelp = "the workers of a host are a group";
  bool operator==(const Host&) const = default;

  bool together(const Member& a, const Member& b) const { return a.host == b.host; }
  std::uint64_t count(std::uint64_t workers, std::uint64_t hosts) const {
    return std::min(hosts, workers);
  }
};

// Groups do not change when a member is lost.
struct Sized {
  static constexpr std::string_view kName = "";
  static constexpr std::string_view kHelp = "N consecutive nodes are a group";
  std::uint32_t size = 4;
  static constexpr auto parameters() {
    return std::tuple{Parameter{"size", &Sized::size, "workers of a group", {.least = 1}}};
  }
  bool operator==(const Sized&) const = default;

  bool together(const Member& a, const Member& b) const {
    return a.node.value() / size == b.node.value() / size;
  }
  std::uint64_t count(std::uint64_t workers, std::uint64_t /*hosts*/) const {
    return (workers + size - 1) / size;
  }
};

}  // namespace groups

using Groups = std::variant<groups::Off, groups::Host, groups::Sized>;

Groups parse_groups(std::string_view text);  // "off", "host", "4"; throws ConfigError
std::string to_string(const Groups& groups);

inline bool are_formed(const Groups& g) { return !std::holds_alternative<groups::Off>(g); }

// The first worker of the worker's group that is in the view; the worker itself if it is not in the
// view.
NodeId leader_of(const View& view, const Groups& groups, NodeId worker);
// Whether the node is a worker of the view that leads its group.
bool leads(const View& view, const Groups& groups, NodeId node);
// Workers of the view in the group that it leads; 1 for a worker that leads none.
std::uint64_t members_of(const View& view, const Groups& groups, NodeId leader);

// The number of groups if all workers are present.
std::uint64_t count_groups(const Groups& groups, std::uint64_t workers, std::uint64_t hosts);

}  // namespace shoal
