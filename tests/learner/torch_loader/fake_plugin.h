// Shared by the fake plugins: an answer by which a test recognizes them.
#pragma once

#include "learner/torch_loader/torch_abi.h"

namespace shoal {

inline TorchDescription describe_fake() {
  return {.version = "fake", .threads = 3, .blas = "none", .details = "no libtorch in here"};
}

}  // namespace shoal
