// Converts between libtorch's tensors and entries of the arena's layout.
#pragma once

#include "learner/layout.h"
#include "learner/torch/model.h"

namespace shoal {

// The Layout sets the position. Throws ConfigError for an unsupported type.
TensorEntry entry_of(const NamedTensor& tensor, Section section, bool channels_last);
at::Tensor view_of(const TensorEntry& entry, float* state);

}  // namespace shoal
