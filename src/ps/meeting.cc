#include "ps/meeting.h"

#include <utility>

#include "runtime/task_group.h"
#include "runtime/view_watch.h"

namespace shoal {
namespace {

Task<bool> meet_in(Node& node, GroupId id, ViewPtr view, const Meet& meet) {
  const Group group(node, id, view);
  auto first = co_await race(node.membership.after(view->generation), meet(group));
  co_return first.index() == 1 && std::get<1>(first);
}

}  // namespace

Task<void> meet_in_views(Node& node, GroupId id, Meet meet) {
  Generation last{};
  const InView body = [&](ViewPtr view) { return meet_in(node, id, std::move(view), meet); };
  co_await in_each_view(node, id, last, body);
}

}  // namespace shoal
