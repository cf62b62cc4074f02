#include "ps/shard_map.h"

#include <algorithm>

#include "base/check.h"

namespace shoal {
namespace {

constexpr std::uint64_t kCacheLine = 16;  // elements

struct Told {
  Holder who;
  const Holding* what;
};

// Whoever came to a chain later has been told of those before it; see shard_map.h.
bool stands_before(const Told& a, const Told& b) {
  const auto place = [](const Holding& h, const Holder& who) {
    return std::ranges::find(h.chain.all(), who) - h.chain.all().begin();
  };
  if (b.what->chain.has(a.who)) return place(*b.what, a.who) < place(*b.what, b.who);
  if (a.what->chain.has(b.who)) return place(*a.what, a.who) < place(*a.what, b.who);
  return a.who < b.who;
}

}  // namespace

std::vector<ShardCut> cut_shards(Elements N, std::size_t shards) {
  SHOAL_CHECK_GT(shards, 0U);
  const std::uint64_t lines = (N.value() + kCacheLine - 1) / kCacheLine;
  std::vector<ShardCut> cuts;
  std::uint64_t at = 0;
  for (std::uint64_t k = 0; k < shards; ++k) {
    const std::uint64_t own = lines / shards + (k < lines % shards ? 1 : 0);
    const std::uint64_t n = std::min(own * kCacheLine, N.value() - at);
    cuts.push_back({Elements(at), Elements(n)});
    at += n;
  }
  return cuts;
}

bool Chain::has(const Holder& holder) const {
  return std::ranges::find(all(), holder) != all().end();
}

const Holder* Chain::before(const Holder& holder) const {
  for (std::uint32_t i = 1; i < n; ++i)
    if (holders[i] == holder) return &holders[i - 1];
  return nullptr;
}

const Holder* Chain::after(const Holder& holder) const {
  for (std::uint32_t i = 0; i + 1 < n; ++i)
    if (holders[i] == holder) return &holders[i + 1];
  return nullptr;
}

std::vector<Holder> servers_of(const View& view) {
  std::vector<Holder> servers;
  for (const Role role : {Role::Server, Role::Worker}) {
    for (const Member& m : view.members)
      if (m.role == role) servers.push_back({m.node, m.incarnation});
    if (!servers.empty()) break;
  }
  return servers;
}

Directory assign(const View& view, std::span<const Holding> told, std::size_t shards,
                 std::size_t copies) {
  SHOAL_CHECK_EQ(told.size(), view.size() * shards);
  const std::vector<Holder> servers = servers_of(view);
  Directory directory{view.generation, {}};
  for (std::size_t k = 0; k < shards; ++k) {
    std::vector<Told> holders;
    for (std::size_t r = 0; r < view.size(); ++r) {
      const Holding& holding = told[r * shards + k];
      const Holder who{view.members[r].node, view.members[r].incarnation};
      if (holding.whole != 0) holders.push_back({who, &holding});
    }
    std::ranges::sort(holders, stands_before);
    Directory::Place place;
    place.fresh = holders.empty();
    const auto add = [&](const Holder& who) {
      if (place.chain.n < std::min(copies, kCopiesMax) && !place.chain.has(who))
        place.chain.holders[place.chain.n++] = who;
    };
    for (const Told& t : holders) add(t.who);
    for (std::size_t i = 0; i < servers.size(); ++i) add(servers[(k + i) % servers.size()]);
    directory.shards.push_back(place);
  }
  return directory;
}

}  // namespace shoal
