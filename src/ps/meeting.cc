#include "ps/meeting.h"

#include <optional>

#include "base/error.h"
#include "runtime/task_group.h"

namespace shoal {

Task<void> meet_in_views(Node& node, GroupId id, Meet meet) {
  Generation last{};
  while (true) {
    ViewPtr view = co_await node.membership.after(last);
    last = view->generation;
    co_await node.endpoint.retire(id, last.previous());
    if (node.membership.now().generation > last) continue;
    const Group group(node, id, view);
    std::optional<PeerLost> lost;
    try {
      auto first = co_await race(node.membership.after(last), meet(group));
      if (first.index() == 1 && std::get<1>(first)) co_return;
    } catch (const PeerLost& error) {
      lost = error;
    }
    if (lost && node.membership.now().generation == last)
      node.membership.suspect(lost->peer(), lost->what());
  }
}

}  // namespace shoal
