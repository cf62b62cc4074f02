// The forms of all_reduce.h, a file each. Private to this folder.
#pragma once

#include <cstdint>

#include "collective/group.h"
#include "encoded/encoder.h"
#include "runtime/task.h"

namespace shoal {

Task<void> encoded_gather(const Group& group, Encoder& encoder, Range g, std::uint64_t operation);
Task<void> encoded_direct(const Group& group, Encoder& encoder, Range g, std::uint64_t operation);
Task<void> encoded_ring(const Group& group, Encoder& encoder, Range g, std::uint64_t operation);
Task<void> encoded_halving_doubling(const Group& group, Encoder& encoder, Range g,
                                    std::uint64_t operation);
Task<void> encoded_sparse(const Group& group, Encoder& encoder, Range g, std::uint64_t operation);
Task<void> encoded_kylix(const Group& group, Encoder& encoder, Range g, std::uint64_t operation);

}  // namespace shoal
