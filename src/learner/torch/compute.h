// How libtorch uses the cores.
#pragma once

#include "learner/torch_loader/torch_abi.h"

namespace shoal {

// For the whole process. Threads that compute take the rest over with prepare_compute_thread().
void set_torch_compute(const TorchCompute& compute);
// Flushing denormals is a property of each thread; those that it starts later inherit it.
void prepare_compute_thread();

}  // namespace shoal
