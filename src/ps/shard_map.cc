#include "ps/shard_map.h"

#include <algorithm>

#include "base/check.h"

namespace shoal {
namespace {

constexpr std::uint64_t kCacheLine = 16;  // elements

// Whoever came to a chain later has been told of those before it; see shard_map.h.
bool stands_before(const Holding& a, const Holding& b) {
  const auto place = [](const Holding& h, const Holder& who) {
    return std::ranges::find(h.chain.all(), who) - h.chain.all().begin();
  };
  if (b.chain.has(a.who)) return place(b, a.who) < place(b, b.who);
  if (a.chain.has(b.who)) return place(a, a.who) < place(a, b.who);
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

ShardDirectory assign(const View& view, std::span<const Holding> told, std::size_t shards,
                      std::size_t copies) {
  std::vector<std::vector<Holding>> of_shard(shards);
  for (const Holding& holding : told) of_shard[holding.shard].push_back(holding);
  const std::vector<Holder> servers = servers_of(view);
  ShardDirectory directory{view.generation, {}};
  for (std::size_t k = 0; k < shards; ++k) {
    std::vector<Holding>& holders = of_shard[k];
    std::ranges::sort(holders, {}, &Holding::who);
    std::ranges::sort(holders, stands_before);
    ShardDirectory::Place place;
    place.fresh = holders.empty() ? 1 : 0;
    const auto add = [&](const Holder& who) {
      if (place.chain.n < std::min(copies, kCopiesMax) && !place.chain.has(who))
        place.chain.holders[place.chain.n++] = who;
    };
    for (const Holding& h : holders) add(h.who);
    for (std::size_t i = 0; i < servers.size(); ++i) add(servers[(k + i) % servers.size()]);
    directory.shards.push_back(place);
  }
  return directory;
}

}  // namespace shoal
