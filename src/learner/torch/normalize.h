// Normalizes the layers of the networks that a factory makes.
#pragma once

#include <string>

#include "learner/normalization.h"
#include "learner/torch/models.h"

namespace shoal {

// `name`: as --model has it. The factory throws ConfigError where the network has no layer for a
// choice.
ModelFactory normalized(ModelFactory make, std::string name, Normalization choice);

}  // namespace shoal
