// The shard map: how the parameters are cut, and which servers hold which piece. Pure functions of
// what the members of a view tell of themselves.
//
// A shard is held by a chain of servers (van Renesse & Schneider, OSDI 2004). Requests go to its
// head; what changes there goes down the chain, and counts when the last one has it. Who is lost
// falls out of the chain; who is added comes to its end, so that of two holders the earlier one
// never knows less.
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
// The first `n` places hold somebody, the head first. Of fixed size, to be sent as it is.
struct Chain {
  std::array<Holder, kCopiesMax> holders{};
  std::uint32_t n = 0;

  std::span<const Holder> all() const { return std::span(holders).first(n); }
  bool operator==(const Chain&) const = default;
  bool has(const Holder& holder) const;
  const Holder* before(const Holder& holder) const;  // null: it is the head, or not in it
  const Holder* after(const Holder& holder) const;   // null: it is the last, or not in it
};

// What a member tells of a shard whose state it has.
struct Holding {
  Holder who;
  std::uint32_t shard = 0;
  Chain chain;  // that it was last told of
};

struct ShardDirectory {
  struct Place {
    Chain chain;
    std::uint32_t fresh = 0;  // 1: nobody has the state; the head must get it from elsewhere
  };
  Generation generation;  // of the view
  std::vector<Place> shards;
};

// Who serves: the servers of the view, or every worker where there is none.
std::vector<Holder> servers_of(const View& view);

// `told`: by all members, in any order. Those who have a shard keep it, in the order of its chain;
// others are added until there are `copies`.
ShardDirectory assign(const View& view, std::span<const Holding> told, std::size_t shards,
                      std::size_t copies);

}  // namespace shoal
