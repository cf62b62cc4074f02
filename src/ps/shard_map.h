// The shard map: the cut of the parameters, and the servers that hold each piece. Pure functions of
// the reports of a view's members.
//
// A shard is held by a chain of servers (van Renesse & Schneider, OSDI 2004). Requests go to its
// head; changes are sent down the chain, and count when the last holder has them. A lost server is
// removed from the chain; a new one is added at its end, so that an earlier holder always has the
// changes of a later one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "runtime/view.h"

namespace shoal {

inline constexpr std::size_t kCopiesMax = 4;

// Consecutive parameters. Cut where cache lines end; the first ones are the larger.
struct ShardCut {
  Elements at, n;
  auto operator<=>(const ShardCut&) const = default;
};
std::vector<ShardCut> cut_shards(Elements N, std::size_t shards);

struct Holder {
  NodeId node = kNobody;
  Incarnation life;
  auto operator<=>(const Holder&) const = default;
};
// The first `n` entries are used, the head first. Its fixed size makes it a message.
struct Chain {
  std::array<Holder, kCopiesMax> holders{};
  std::uint32_t n = 0;

  std::span<const Holder> all() const { return std::span(holders).first(n); }
  bool operator==(const Chain&) const = default;
  bool has(const Holder& holder) const;
  const Holder* before(const Holder& holder) const;  // null: it is the head, or not in it
  const Holder* after(const Holder& holder) const;   // null: it is the last, or not in it
};

// A member's report on a shard whose state it has.
struct Holding {
  Holder who;
  std::uint32_t shard = 0;
  Chain chain;  // the last one that it knows
};

struct ShardDirectory {
  struct Place {
    Chain chain;
    std::uint32_t fresh = 0;  // 1: no server has the state; the head must load it
  };
  Generation generation;  // of the view
  std::vector<Place> shards;
};

// The nodes that serve: the servers of the view, or all workers if it has no servers.
std::vector<Holder> servers_of(const View& view);

// `told`: the reports of all members, in any order. Holders of a shard keep it, in the order of its
// chain; others are added until there are `copies`.
ShardDirectory assign(const View& view, std::span<const Holding> told, std::size_t shards,
                      std::size_t copies);

}  // namespace shoal
