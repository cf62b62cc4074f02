// A meeting of all members of a view, repeated in the next when the view changes meanwhile.
#pragma once

#include <functional>

#include "base/types.h"
#include "collective/group.h"
#include "runtime/node.h"
#include "runtime/task.h"

namespace shoal {

// What the members do together; true: that was the last time.
using Meet = std::function<Task<bool>(const Group&)>;

// In every view anew. Whoever is lost in it is suspected. REQUIRES: `id` is used for nothing else.
Task<void> meet_in_views(Node& node, GroupId id, Meet meet);

}  // namespace shoal
