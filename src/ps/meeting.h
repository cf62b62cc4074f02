// A meeting of all members of a view, repeated in the next when the view changes meanwhile.
#pragma once

#include <functional>

#include "base/types.h"
#include "collective/group.h"
#include "runtime/node.h"
#include "runtime/task.h"

namespace shoal {

// The work of all members together; true: this was the last time.
using Meet = std::function<Task<bool>(const Group&)>;

// Runs once in every view. Members that are lost in it are suspected. REQUIRES: `id` is used for
// nothing else.
Task<void> meet_in_views(Node& node, GroupId id, Meet meet);

}  // namespace shoal
