#include "ps/groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace shoal {
namespace {

bool together(const Groups& groups, const Member& a, const Member& b) {
  switch (groups.by) {
    case Groups::By::Nobody: return a.node == b.node;
    case Groups::By::Host: return a.host == b.host;
    case Groups::By::Size: return a.node.value() / groups.size == b.node.value() / groups.size;
  }
  return false;
}

}  // namespace

Groups parse_groups(std::string_view text) {
  Groups groups;
  if (text == "off") return groups;
  if (text == "host") {
    groups.by = Groups::By::Host;
    return groups;
  }
  groups.by = Groups::By::Size;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, groups.size);
  if (error != std::errc{} || stopped != end || groups.size == 0)
    throw ConfigError(fmt::format(
        "--groups {}: needed is host, a number of workers from 1 on, or off for none", text));
  return groups;
}

std::string to_string(const Groups& groups) {
  if (groups.by == Groups::By::Size) return fmt::format("{}", groups.size);
  return groups.by == Groups::By::Host ? "host" : "off";
}

NodeId leader_of(const View& view, const Groups& groups, NodeId worker) {
  const Member* const self = view.find(worker);
  if (self == nullptr || groups.by == Groups::By::Nobody) return worker;
  const auto first = std::ranges::find_if(view.members, [&](const Member& m) {
    return m.role == Role::Worker && together(groups, m, *self);
  });
  return first == view.members.end() ? worker : first->node;
}

bool leads(const View& view, const Groups& groups, NodeId node) {
  const Member* const self = view.find(node);
  return self != nullptr && self->role == Role::Worker && leader_of(view, groups, node) == node;
}

std::uint64_t members_of(const View& view, const Groups& groups, NodeId leader) {
  if (groups.by == Groups::By::Nobody || !leads(view, groups, leader)) return 1;
  const Member& self = *view.find(leader);
  return static_cast<std::uint64_t>(std::ranges::count_if(view.members, [&](const Member& m) {
    return m.role == Role::Worker && together(groups, m, self);
  }));
}

std::uint64_t count_groups(const Groups& groups, std::uint64_t workers, std::uint64_t hosts) {
  switch (groups.by) {
    case Groups::By::Nobody: return workers;
    case Groups::By::Host: return std::min(hosts, workers);
    case Groups::By::Size: return (workers + groups.size - 1) / groups.size;
  }
  return workers;
}

}  // namespace shoal
