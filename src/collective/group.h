// Group: the members that take part in collective operations, in rank order, under one view.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/types.h"
#include "runtime/header.h"
#include "runtime/node.h"

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

  std::uint64_t size() const { return view->size(); }
  // The member `distance` places after this one, around the ring; distance may be negative.
  NodeId peer(std::int64_t distance) const {
    const auto n = static_cast<std::int64_t>(size());
    const std::int64_t r = (static_cast<std::int64_t>(rank.value()) + distance % n + n) % n;
    return view->at(Rank(static_cast<std::uint32_t>(r)));
  }
  // One collective operation has one number, the same on all members; its rounds count from 0.
  Tag tag(std::uint64_t operation, std::uint64_t round) const {
    SHOAL_CHECK_LT(round, std::uint64_t{1} << 16U);
    return Tag{id, view->generation, operation << 16U | round};
  }
};

}  // namespace shoal
