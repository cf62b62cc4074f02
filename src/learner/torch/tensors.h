// Between the tensors of libtorch and the layout of the arena.
#pragma once

#include "learner/layout.h"
#include "learner/torch/model.h"

namespace shoal {

// Where it lies is for the Layout to say. Throws ConfigError for a type that cannot be kept.
TensorEntry entry_of(const NamedTensor& tensor, Section section, bool channels_last);
at::Tensor view_of(const TensorEntry& entry, float* state);

}  // namespace shoal
