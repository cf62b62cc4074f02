#include "ps/directory.h"

#include "base/error.h"
#include "collective/group.h"
#include "runtime/task_group.h"

namespace shoal {
void require_present(const Node& node, const Holder& holder) {
  if (!node.membership.now().has(holder.node, holder.life))
    throw PeerLost(holder.node, "it is not in the view");
}

Task<void> Directories::follow() {
  Generation last{};
  while (true) {
    ViewPtr view = co_await node_.membership.after(last);
    last = view->generation;
    co_await node_.endpoint.retire(kGroup, last.previous());
    if (node_.membership.now().generation > last) continue;
    std::optional<PeerLost> lost;
    try {
      co_await race(node_.membership.after(last), agree(view));
    } catch (const PeerLost& error) {
      lost = error;
    }
    if (lost && node_.membership.now().generation == last)
      node_.membership.suspect(lost->peer(), lost->what());
  }
}

Task<void> Directories::agree(ViewPtr view) {
  const Group group(node_, kGroup, view);
  std::vector<Holding> own(shards_);
  if (holdings) own = holdings();
  const std::span<const Holding> told = own;
  const std::vector<Holding> all = co_await gathering_.of_all(group, told, 0);
  now_ = assign(*view, all, shards_, copies_);
  changed_.notify_all();
}

Task<void> Directories::reach(Generation generation) {
  while (now_.generation < generation) co_await changed_.wait();
}

}  // namespace shoal
