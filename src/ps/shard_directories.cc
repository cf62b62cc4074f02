#include "ps/shard_directories.h"

#include "base/error.h"
#include "ps/meeting.h"
#include "runtime/task_group.h"

namespace shoal {
namespace {

// Messages of a view.
constexpr std::uint64_t kCounts = 0;
constexpr std::uint64_t kHoldings = 1;
constexpr std::uint64_t kPlaces = 2;

}  // namespace

void require_present(const Node& node, const Holder& holder) {
  if (!node.membership.now().has(holder.node, holder.life))
    throw PeerLost(holder.node, "it is not in the view");
}

Task<void> ShardDirectories::follow() {
  const Meet meet = [this](const Group& group) { return agree(group); };
  co_await meet_in_views(node_, kGroup, meet);
}

Task<bool> ShardDirectories::agree(const Group& group) {
  told_.clear();
  if (holdings) told_ = holdings();
  places_.assign(shards_, ShardDirectory::Place());
  const Rank first = *group.view->rank_of(servers_of(*group.view).front().node);
  if (group.rank == first) {
    co_await gather(group);
    places_ = assign(*group.view, told_, shards_, copies_).shards;
    co_await spread(group);
  } else {
    co_await tell(group, first);
  }
  now_ = {group.view->generation, places_};
  changed_.notify_all();
  if (on_change) on_change();
  co_return false;
}

Task<void> ShardDirectories::tell(const Group& group, Rank first) {
  Endpoint& endpoint = group.node.endpoint;
  const NodeId to = group.view->at(first);
  count_ = told_.size();
  co_await endpoint.send(to, group.tag(kCounts, 0), const_buf(count_));
  const std::span<const Holding> told = told_;
  if (count_ > 0) co_await endpoint.send(to, group.tag(kHoldings, 0), const_buf(told));
  const Match match{.from = to, .tag = group.tag(kPlaces, 0)};
  const MutBuf room = mut_buf(std::span(places_));
  const Received received = co_await endpoint.recv(match, room);
  require_size(received, room.size);
}

// In the order in which they come: the directory does not depend on it.
Task<void> ShardDirectories::gather(const Group& group) {
  Endpoint& endpoint = group.node.endpoint;
  // A receive may be under way when the view ends, so that its room does not move.
  std::deque<std::vector<Holding>>& came = came_;
  came.clear();
  for (std::size_t others = group.size() - 1; others > 0; --others) {
    const Match counts{.tag = group.tag(kCounts, 0)};
    const Received counted = co_await endpoint.recv(counts, mut_buf(count_));
    require_size(counted, Bytes(sizeof count_));
    if (count_ == 0) continue;
    std::vector<Holding>& room = came.emplace_back(count_);
    const Match match{.from = counted.from, .tag = group.tag(kHoldings, 0)};
    const MutBuf into = mut_buf(std::span(room));
    const Received received = co_await endpoint.recv(match, into);
    require_size(received, into.size);
    told_.insert(told_.end(), room.begin(), room.end());
  }
}

Task<void> ShardDirectories::spread(const Group& group) {
  const std::span<const ShardDirectory::Place> places = places_;
  co_await with_group([&](TaskGroup& tasks) -> Task<> {
    for (const Member& member : group.view->members)
      if (member.node != group.node.id)
        tasks.spawn(as_task(
            group.node.endpoint.send(member.node, group.tag(kPlaces, 0), const_buf(places))));
    co_return;
  });
}

Task<void> ShardDirectories::reach(Generation generation) {
  while (now_.generation < generation) co_await changed_.wait();
}

}  // namespace shoal
