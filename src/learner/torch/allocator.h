// Reuses the memory of libtorch's tensors.
//
// A training step allocates and frees the same large blocks as the step before. The C library
// returns them to the kernel in between, which then clears every page again: a tenth of a step of a
// fully connected network. Here they are kept, in large pages.
#pragma once

namespace shoal {

// Applies to tensors of this process that are made from now on. Further calls change nothing.
void keep_tensor_memory();
// Returns unused memory to the kernel, for example after a one-time operation.
void release_tensor_memory();

}  // namespace shoal
