#include "ps/directory.h"

#include "base/error.h"
#include "ps/meeting.h"

namespace shoal {
void require_present(const Node& node, const Holder& holder) {
  if (!node.membership.now().has(holder.node, holder.life))
    throw PeerLost(holder.node, "it is not in the view");
}

Task<void> Directories::follow() {
  const Meet meet = [this](const Group& group) { return agree(group); };
  co_await meet_in_views(node_, kGroup, meet);
}

Task<bool> Directories::agree(const Group& group) {
  std::vector<Holding> own(shards_);
  if (holdings) own = holdings();
  const std::span<const Holding> told = own;
  const std::vector<Holding> all = co_await gathering_.of_all(group, told, 0);
  now_ = assign(*group.view, all, shards_, copies_);
  changed_.notify_all();
  co_return false;
}

Task<void> Directories::reach(Generation generation) {
  while (now_.generation < generation) co_await changed_.wait();
}

}  // namespace shoal
