// Makes a torch learner for code that does not include libtorch.
#pragma once

#include <memory>

#include "learner/torch_loader/torch_abi.h"

namespace shoal {

std::unique_ptr<Learner> make_torch_learner(const TorchTask& task);

}  // namespace shoal
