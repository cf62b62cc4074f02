#include "runtime/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace shoal {

const Member* View::find(NodeId node) const {
  // While no node is missing, the rank is the node's number.
  if (node.value() < members.size() && members[node.value()].node == node)
    return &members[node.value()];
  const auto it = std::ranges::lower_bound(members, node, {}, &Member::node);
  return it != members.end() && it->node == node ? &*it : nullptr;
}

bool View::has(NodeId node, Incarnation incarnation) const {
  const Member* member = find(node);
  return member != nullptr && member->incarnation == incarnation;
}

std::optional<Rank> View::rank_of(NodeId node) const {
  const Member* member = find(node);
  if (member == nullptr) return std::nullopt;
  return Rank(static_cast<std::uint32_t>(member - members.data()));
}

std::string describe(const View& view) {
  std::string text = fmt::format("view {}:", view.generation);
  for (const Member& m : view.members) text += fmt::format(" {}.{}", m.node, m.incarnation);
  return text;
}

std::uint64_t hash_of(const View& view) {
  Hash hash;
  for (const Member& m : view.members) {
    hash.add(m.node.value());
    hash.add(m.incarnation.value());
  }
  return hash.value();
}

Event view_event(const View& view) {
  Event event;
  event.kind = EventKind::ViewSeen;
  event.generation = view.generation;
  event.a = view.size();
  event.b = hash_of(view);
  return event;
}

ViewDecision decide_view(Time now, const CoordinatorState& state,
                         const CoordinatorOptions& options) {
  std::vector<Member> members;
  std::string reason;
  std::size_t finished = 0;  // members that have left in an orderly way
  for (const Candidate& c : state.candidates) {
    const bool was_in = state.view.has(c.member.node, c.member.incarnation);
    const Duration patience = c.patience > Duration() ? c.patience : options.suspect_after;
    std::string why_out;
    if (c.left) {
      if (was_in) ++finished;
      why_out = "left";
    } else if (c.connection_lost) {
      why_out = "connection lost";
    } else if (c.suspected_by != kNobody) {
      why_out = c.suspected_by == c.member.node
                    ? fmt::format("it failed: {}", c.why)
                    : fmt::format("suspected by node {}: {}", c.suspected_by, c.why);
    } else if (now - c.last_heard > patience) {
      why_out = fmt::format("silent for {:.3f} s", seconds(now - c.last_heard));
    }
    if (!why_out.empty()) {
      if (was_in) reason += fmt::format("node {} out ({}); ", c.member.node, why_out);
      continue;
    }
    members.push_back(c.member);
  }
  // The newer of two incarnations of a node counts; this order puts it last.
  std::ranges::sort(members, {}, [](const Member& m) { return std::pair(m.node, m.incarnation); });
  std::vector<Member> newest;
  for (const Member& m : members) {
    if (!newest.empty() && newest.back().node == m.node) newest.pop_back();
    newest.push_back(m);
  }
  for (const Member& m : newest) {
    if (!state.view.has(m.node, m.incarnation))
      reason += fmt::format("node {}.{} in; ", m.node, m.incarnation);
  }

  const Ending ending = state.view.ending != Ending::No ? state.view.ending : state.end;
  if (ending != state.view.ending) reason += fmt::format("the job ends: {}; ", state.why_end);

  if (newest == state.view.members && ending == state.view.ending)
    return {std::nullopt, fmt::format("view {} remains, with {} members", state.view.generation,
                                      state.view.size())};
  if (newest.empty()) return {std::nullopt, "no node is left to form a view"};
  const bool forming = state.view.members.empty();
  if (forming && newest.size() < options.expected && now - state.started < options.form_limit)
    return {std::nullopt,
            fmt::format("the first view waits: {} of {} nodes are here", newest.size(),
                        options.expected),
            true};
  // A smaller view was formed because members had finished, and none will replace them.
  const bool bound = state.view.generation == Generation(0) || state.view.size() >= options.minimum;
  if (bound && ending == Ending::No && newest.size() + finished < options.minimum)
    return {
        std::nullopt,
        fmt::format("waiting: {} of at least {} workers are here", newest.size(), options.minimum),
        true};
  if (reason.ends_with("; ")) reason.resize(reason.size() - 2);
  return {View{state.view.generation.next(), std::move(newest), ending}, std::move(reason)};
}

}  // namespace shoal
