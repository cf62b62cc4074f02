// How libtorch uses the cores.
#pragma once

#include "learner/torch_loader/torch_abi.h"

namespace shoal {

// For the whole process. Computing threads apply the rest by prepare_compute_thread().
void set_torch_compute(const TorchCompute& compute);
// Flushing denormals is a property of a thread, inherited by threads that it starts later.
void prepare_compute_thread();

}  // namespace shoal
