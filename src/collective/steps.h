// The steps that collectives are made of.
//
// What is to be added is *given*: its reader adds it where it lies, if both are on one host. What
// is to be kept is sent: straight into the place where it stays.
#pragma once

#include <span>

#include "collective/group.h"
#include "runtime/endpoint.h"
#include "runtime/range.h"
#include "runtime/task.h"

namespace shoal {

// Done when its reader has added it. Whoever also waits for something of that reader awaits this in
// a task of its own: each might wait for the other.
inline SendOp give(const Group& group, NodeId to, const Tag& tag, Range range) {
  return group.node.endpoint.publish(to, tag, range.bytes());
}

// mine += what `from` gives. `room` has the size of mine, and is used for what comes from another
// host.
Task<void> add_given(const Group& group, NodeId from, Tag tag, Range mine, Range room);

// A message of just that size.
Task<void> receive(const Group& group, NodeId from, Tag tag, MutBuf room);

// The numbers of a message; none of a phantom.
std::span<const float> floats(ConstBuf data);

}  // namespace shoal
