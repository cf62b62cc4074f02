// Who holds what, as the members of each view agree on it: all tell the first server what they
// have, and it tells all the directory that follows (shard_map.h). It changes while requests are
// under way; a head that is still in the view stays one.
//
// Cost: of P members with S shards 2 P messages, and P S places in all.
// Failure: as ring_all_reduce; whoever is lost ends the view, and the next one begins anew.
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

// Throws PeerLost when that life is over for this node. A receive is from a node, and one that came
// back knows nothing of what its earlier life began: so this is asked just before each.
void require_present(const Node& node, const Holder& holder);

// Thread safety: none; it belongs to the thread of its node.
class ShardDirectories {
 public:
  static constexpr GroupId kGroup{3};

  ShardDirectories(Node& node, std::size_t shards, std::size_t copies)
      : node_(node), shards_(shards), copies_(copies) {}

  // What this node holds, asked when a view begins; none: nothing.
  std::function<std::vector<Holding>()> holdings = {};
  // Called after each change.
  std::function<void()> on_change = {};

  // Follows the views until it is cancelled.
  Task<void> follow();
  const ShardDirectory& now() const { return now_; }  // generation 0: none yet
  // As soon as there is one of this generation or later.
  Task<void> reach(Generation generation);
  // As soon as it differs from that one.
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
