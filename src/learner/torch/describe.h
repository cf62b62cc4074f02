// libtorch's description of itself.
#pragma once

#include "learner/torch_loader/torch_abi.h"

namespace shoal {

TorchDescription describe_torch();

}  // namespace shoal
