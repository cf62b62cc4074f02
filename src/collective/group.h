// Group: the members that take part in collective operations, in rank order, under one view.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/types.h"
#include "runtime/header.h"
#include "runtime/node.h"
#include "runtime/range.h"

namespace shoal {

struct Group {
  Node& node;
  GroupId id;
  ViewPtr view;
  Rank rank;  // of this node

  // REQUIRES: the node is in the view.
  Group(Node& n, GroupId group, ViewPtr v) : node(n), id(group), view(std::move(v)) {
    const auto r = view->rank_of(node.id);
    SHOAL_CHECK(r.has_value(), "node {} is not in view {}", node.id, view->generation);
    rank = *r;
  }

  // A subgroup that contains this node, with ranks of its own, in ascending order of the old ranks.
  // Its messages have the same tags as the whole group's: operations of the two must not use the
  // same number between the same two members.
  Group among(std::span<const Rank> ranks) const {
    auto part = std::make_shared<View>();
    part->generation = view->generation;
    for (const Rank r : ranks) part->members.push_back(view->members[r.value()]);
    return {node, id, std::move(part)};
  }

  std::uint64_t size() const { return view->size(); }
  NodeId at(std::uint64_t r) const { return view->at(Rank(static_cast<std::uint32_t>(r))); }
  std::uint64_t hosts() const {
    std::set<HostId> seen;
    for (const Member& member : view->members) seen.insert(member.host);
    return seen.size();
  }
  bool on_this_host(NodeId member) const {
    return view->find(member)->host == view->members[rank.value()].host;
  }
  // The member `distance` places after this one, around the ring; distance may be negative.
  NodeId peer(std::int64_t distance) const {
    const auto n = static_cast<std::int64_t>(size());
    const std::int64_t r = (static_cast<std::int64_t>(rank.value()) + distance % n + n) % n;
    return view->at(Rank(static_cast<std::uint32_t>(r)));
  }
  // A collective operation has one number, the same on all members; its rounds count from 0.
  Tag tag(std::uint64_t operation, std::uint64_t round) const {
    SHOAL_CHECK_LT(round, std::uint64_t{1} << 16U);
    return Tag{id, view->generation, operation << 16U | round};
  }
};

}  // namespace shoal
