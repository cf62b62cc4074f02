// Memory for libtorch's tensors that is used again.
//
// A training step allocates and frees the same large blocks as the step before. The C library gives
// them back to the kernel in between, which then clears every page anew: a tenth of a step of a
// fully connected network. Here they are kept, in large pages.
#pragma once

namespace shoal {

// For the tensors of this process that are made from now on. Further calls change nothing.
void keep_tensor_memory();
// Gives the kernel back what no tensor needs now, as after something that does not come again.
void release_tensor_memory();

}  // namespace shoal
