// Normalizes the layers of a factory's networks.
#pragma once

#include <string>

#include "learner/normalization.h"
#include "learner/torch/models.h"

namespace shoal {

// `name`: the value of --model. The factory throws ConfigError if the network has no suitable
// layer.
ModelFactory normalized(ModelFactory make, std::string name, Normalization choice);

}  // namespace shoal
