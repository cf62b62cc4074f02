// ShardDirectories: the holders of each shard, on which the members of each view agree: all report
// their shards to the first server, which sends the resulting directory to all (shard_map.h). It
// changes while requests are under way; a head that is still in the view stays one.
//
// Cost: 2 P messages and P S entries, for P members and S shards.
// Failure: as ring_all_reduce; a loss ends the view, and the next one begins again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "base/types.h"
#include "collective/group.h"
#include "ps/shard_map.h"
#include "runtime/channel.h"
#include "runtime/node.h"
#include "runtime/task.h"

namespace shoal {

// Throws PeerLost when that life is over for this node. A receive is from a node, and a node that
// came back does not know the operations of its earlier life: so call this right before each
// receive.
void require_present(const Node& node, const Holder& holder);

// Thread safety: none; it belongs to the thread of its node.
class ShardDirectories {
 public:
  static constexpr GroupId kGroup{3};

  ShardDirectories(Node& node, std::size_t shards, std::size_t copies)
      : node_(node), shards_(shards), copies_(copies) {}

  // The shards that this node holds, called when a view begins; empty: none.
  std::function<std::vector<Holding>()> holdings = {};
  // Called after each change.
  std::function<void()> on_change = {};

  // Follows the views until it is cancelled.
  Task<void> follow();
  const ShardDirectory& now() const { return now_; }  // generation 0: none yet
  // Done when there is a directory of this generation or later.
  Task<void> reach(Generation generation);
  // Done when the directory differs from that one.
  Task<void> after(Generation generation) { return reach(generation.next()); }

 private:
  Task<bool> agree(const Group& group);
  Task<void> tell(const Group& group, Rank first);
  Task<void> gather(const Group& group);
  Task<void> spread(const Group& group);

  Node& node_;
  std::size_t shards_, copies_;
  ShardDirectory now_;
  Signal changed_;
  // On their way until the generation is retired.
  std::uint64_t count_ = 0;
  std::vector<Holding> told_;
  std::deque<std::vector<Holding>> came_;
  std::vector<ShardDirectory::Place> places_;
};

}  // namespace shoal
