#include "ps/groups.h"

namespace shoal {

Groups parse_groups(std::string_view text) { return parse_choice<Groups>("--groups", text); }

std::string to_string(const Groups& g) { return choice_text(g); }

NodeId leader_of(const View& view, const Groups& g, NodeId worker) {
  const Member* const self = view.find(worker);
  if (self == nullptr || !are_formed(g)) return worker;
  return std::visit(
      [&](const auto& rule) {
        const auto first = std::ranges::find_if(view.members, [&](const Member& m) {
          return m.role == Role::Worker && rule.together(m, *self);
        });
        return first == view.members.end() ? worker : first->node;
      },
      g);
}

bool leads(const View& view, const Groups& g, NodeId node) {
  const Member* const self = view.find(node);
  return self != nullptr && self->role == Role::Worker && leader_of(view, g, node) == node;
}

std::uint64_t members_of(const View& view, const Groups& g, NodeId leader) {
  if (!are_formed(g) || !leads(view, g, leader)) return 1;
  const Member& self = *view.find(leader);
  return std::visit(
      [&](const auto& rule) {
        return static_cast<std::uint64_t>(std::ranges::count_if(view.members, [&](const Member& m) {
          return m.role == Role::Worker && rule.together(m, self);
        }));
      },
      g);
}

std::uint64_t count_groups(const Groups& g, std::uint64_t workers, std::uint64_t hosts) {
  return std::visit([&](const auto& rule) { return rule.count(workers, hosts); }, g);
}

}  // namespace shoal
