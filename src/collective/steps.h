// The steps of collectives.
//
// To add values, a member *gives* them: on one host the receiver adds them from the giver's memory.
// To copy values, a member sends them: they go straight to their destination.
#pragma once

#include <span>

#include "collective/group.h"
#include "runtime/endpoint.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Done when the receiver has added the values. A caller that also waits for a message of that
// receiver awaits this in a task of its own; otherwise the two might wait for each other.
inline SendOp give(const Group& group, NodeId to, const Tag& tag, Range range) {
  return group.node.endpoint.publish(to, tag, range.bytes());
}

// mine += the values that `from` gives. `room` has the size of mine, and receives the values if
// they come from another host.
Task<void> add_given(const Group& group, NodeId from, Tag tag, Range mine, Range room);

// Receives a message of exactly room's size.
Task<void> receive(const Group& group, NodeId from, Tag tag, MutBuf room);

// The numbers in a message; empty for a phantom.
std::span<const float> floats(ConstBuf data);

}  // namespace shoal
