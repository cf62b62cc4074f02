// Steps shared by encoded exchanges.
#pragma once

#include <optional>
#include <vector>

#include "collective/group.h"
#include "encoded/encoder.h"
#include "runtime/task.h"
#include "runtime/task_group.h"

namespace shoal {

// The message of g: as it was taken, or encoded now.
Task<ConstBuf> message_of(const Group& group, Encoder& encoder, Range g);
// g = what the message holds; or is added to it.
Task<void> put(const Group& group, const Encoder& encoder, ConstBuf message, Range g, NodeId from);
Task<void> add_to(const Group& group, const Encoder& encoder, ConstBuf message, Range g,
                  NodeId from);
// A task of the group: done when its reader has let go of it.
void give_message(const Group& group, TaskGroup& tasks, std::uint64_t to, Tag tag,
                  ConstBuf message);
Task<Reading> read_message(const Group& group, std::uint64_t from, Tag tag);
// A copy, to be passed on: it lives as long as the encoder's rooms.
Task<ConstBuf> take_message(const Group& group, Encoder& encoder, std::uint64_t from, Tag tag);

}  // namespace shoal
